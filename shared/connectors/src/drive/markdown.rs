//! The removal of embedded images from exported Markdown. They are longer than the whole text.

/// The most bytes of the description of an image.
const MAX_DESCRIPTION_BYTES: usize = 1_000;

/// Replaces images by their descriptions.
pub(super) fn remove_images(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut labels = Vec::new();
    let mut output = String::with_capacity(text.len().min(1024 * 1024));
    for line in text.split_inclusive('\n') {
        match image_definition(line) {
            Some(label) => labels.push(label.to_lowercase()),
            None => output.push_str(line),
        }
    }
    remove_image_uses(&output, &labels)
}

/// Returns the label of a line such as `[image1]: <data:image/png;base64,iVBOR…>`.
fn image_definition(line: &str) -> Option<&str> {
    let (label, target) = line
        .trim_start_matches(' ')
        .strip_prefix('[')?
        .split_once("]:")?;
    let target = target.trim_start();
    let target = target.strip_prefix('<').unwrap_or(target);
    (is_data_url(target) && !label.contains(['[', ']'])).then_some(label)
}

fn is_data_url(target: &str) -> bool {
    match target.get(..5) {
        Some(scheme) => scheme.eq_ignore_ascii_case("data:"),
        None => false,
    }
}

/// Replaces each `![description](data:…)`, and each `![description][label]` with a known label, by
/// its description.
fn remove_image_uses(text: &str, labels: &[String]) -> String {
    let mut output = String::with_capacity(text.len());
    // Without this position, each unclosed image would cause another search through the rest of the
    // text.
    let last_closed = text.rfind(')').unwrap_or(0);
    let mut rest = text;
    while let Some(start) = rest.find("![") {
        output.push_str(&rest[..start]);
        let image = &rest[start..];
        let may_close = text.len() - image.len() < last_closed;
        let (description, length) = parse_image(image, labels, may_close).unwrap_or(("![", 2));
        output.push_str(description);
        rest = &image[length..];
    }

    output.push_str(rest);
    output
}

/// Returns the description of the image at the beginning of a text, and the length of the image in
/// bytes.
fn parse_image<'a>(text: &'a str, labels: &[String], may_close: bool) -> Option<(&'a str, usize)> {
    let (description, after_description) = parse_brackets(text.strip_prefix('!')?)?;
    let prefix_length = text.len() - after_description.len();
    if let Some(target) = after_description.strip_prefix('(') {
        let target = target.strip_prefix('<').unwrap_or(target);
        if !may_close || !is_data_url(target) {
            return None;
        }
        // Data consists of base64 or percent encoding, neither of which contains parentheses.
        let end = after_description.find(')')?;
        return Some((description, prefix_length + end + 1));
    }

    let (label, rest) = parse_brackets(after_description)?;
    let reference = if label.is_empty() { description } else { label };
    let is_known = labels
        .iter()
        .any(|label| *label == reference.to_lowercase());

    is_known.then_some((description, text.len() - rest.len()))
}

/// Returns the text in the brackets at the beginning of a text, and the rest after them. The limit
/// on descriptions prevents a text full of open brackets from being searched to its end for each of
/// them.
fn parse_brackets(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('[')?;
    let search_range = &inside.as_bytes()[..inside.len().min(MAX_DESCRIPTION_BYTES)];
    let end = search_range.iter().position(|byte| *byte == b']')?;
    Some((&inside[..end], &inside[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_leave_their_descriptions_and_nothing_else() {
        let cases = [
            (
                "# Plan\n\n![][image1]\n\n[image1]: <data:image/png;base64,iVBORw0KGgo=>\n",
                "# Plan\n\n\n\n",
            ),
            (
                "![A chart][Image1] rises\n[image1]: data:image/png;base64,AA==",
                "A chart rises\n",
            ),
            ("a ![logo](data:image/gif;base64,R0lG) b", "a logo b"),
            ("a ![logo](<data:image/gif;base64,R0lG>) b", "a logo b"),
            (
                "![x](https://pictures.example/x.png)",
                "![x](https://pictures.example/x.png)",
            ),
            (
                "![x][other]\n[other]: https://pictures.example",
                "![x][other]\n[other]: https://pictures.example",
            ),
            ("[data]: see below\n![", "[data]: see below\n!["),
            ("\u{feff}Grüße ![ü][é]", "Grüße ![ü][é]"),
            ("![image1][]\n[image1]: <DATA:,x>\n", "image1\n"),
            (
                "![never closed](data:image/png;base64,AA",
                "![never closed](data:image/png;base64,AA",
            ),
            ("![[nested](data:,x)", "[nested"),
        ];

        for (input, expected) in cases {
            assert_eq!(remove_images(input), expected, "{input}");
        }
    }

    #[test]
    fn a_large_export_is_read_in_one_go() {
        let picture = "A".repeat(2_000_000);
        let mut text = "![][image1] words ".repeat(20_000);
        text.push_str(&format!("\n[image1]: <data:image/png;base64,{picture}>\n"));
        let output = remove_images(&text);
        assert_eq!(output, format!("{}\n", " words ".repeat(20_000)));
        for pattern in ["![", "![a](data:", "![a](data:]", "![]", "![]["] {
            let text = pattern.repeat(50_000);
            assert_eq!(remove_images(&text), text);
        }
    }
}
