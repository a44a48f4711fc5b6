//! Inspection of the head of a request as it arrived. The parser drops a Content-Length beside a
//! Transfer-Encoding, so that both cannot be detected afterwards.

/// The most bytes of a head, and of what is read ahead of a body.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The bytes that arrive while a head is expected.
#[derive(Debug)]
pub(crate) struct HeadInspector {
    is_expected: bool,
    buffer: Vec<u8>,
    has_two_lengths: bool,
}

impl Default for HeadInspector {
    fn default() -> Self {
        Self {
            is_expected: true,
            buffer: Vec::new(),
            has_two_lengths: false,
        }
    }
}

impl HeadInspector {
    /// Expects another head. A request that was sent before the answer to the previous one is not
    /// inspected. The parser still ends the connection after it if it has two lengths.
    pub(crate) fn expect_head(&mut self) {
        self.is_expected = true;
        self.buffer.clear();
    }

    /// Inspects bytes that arrived.
    pub(crate) fn inspect_bytes(&mut self, bytes: &[u8]) {
        if !self.is_expected {
            return;
        }

        // The end of the head may begin in the previous bytes.
        let search_start = self.buffer.len().saturating_sub(3);
        self.buffer.extend_from_slice(bytes);
        let end = end_of_head(&self.buffer[search_start..]).map(|end| search_start + end);
        if end.is_none() && self.buffer.len() <= MAX_HEAD_BYTES {
            return;
        }

        let head = &self.buffer[..end.unwrap_or(self.buffer.len())];
        self.has_two_lengths =
            has_field(head, "content-length") && has_field(head, "transfer-encoding");
        self.is_expected = false;
        self.buffer = Vec::new();
    }

    /// Returns whether the last head gave the length of its body in two ways, and resets the flag.
    pub(crate) fn take_two_lengths(&mut self) -> bool {
        std::mem::take(&mut self.has_two_lengths)
    }
}

/// Returns the position of the empty line that ends the head. Lines may end without a carriage
/// return.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let is_end =
        |at: &usize| bytes[*at..].starts_with(b"\n\r\n") || bytes[*at..].starts_with(b"\n\n");
    (0..bytes.len()).find(is_end)
}

fn has_field(head: &[u8], name: &str) -> bool {
    head.split(|byte| *byte == b'\n').any(|line| {
        let end = line.iter().position(|byte| *byte == b':');
        end.is_some_and(|end| line[..end].eq_ignore_ascii_case(name.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lengths_are_seen_in_any_case_order_and_split() {
        let both = [
            "POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nbody",
            "POST / HTTP/1.1\r\ntransfer-encoding:chunked\r\nCONTENT-LENGTH:4\r\n\r\n",
            "POST / HTTP/1.1\ncontent-length: 4\ntransfer-encoding: chunked\n\n",
        ];
        for text in both {
            for cut in 0..text.len() {
                let mut head = HeadInspector::default();
                head.inspect_bytes(&text.as_bytes()[..cut]);
                head.inspect_bytes(&text.as_bytes()[cut..]);
                assert!(head.take_two_lengths(), "{text:?} cut at {cut}");
                assert!(!head.take_two_lengths(), "it is told once");
            }
        }
    }

    #[test]
    fn one_length_and_fields_of_a_body_are_no_two_lengths() {
        for text in [
            "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX-Content-Length: 1\r\n\r\n",
            "GET /content-length:transfer-encoding: HTTP/1.1\r\n\r\n",
        ] {
            let mut head = HeadInspector::default();
            head.inspect_bytes(text.as_bytes());
            head.inspect_bytes(b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n");
            assert!(!head.take_two_lengths(), "{text:?}");
        }
    }
}
