//! The MD5 digests with which SQS lets a client verify what arrived.

use std::collections::BTreeMap;

use md5::{Digest, Md5};

use super::wire::MessageAttribute;

/// Returns the digest of a message body.
pub(super) fn digest_body(body: &str) -> String {
    hex::encode(Md5::digest(body.as_bytes()))
}

/// Returns the digest of message attributes, or `None` if there are none.
///
/// Each attribute, in the order of names, adds its name, data type and value. Each of these follows
/// its length in four bytes (big-endian), and the value also follows a byte for its transport (1
/// text, 2 binary). The source is the SQS developer guide, "Calculating the MD5 message digest".
pub(super) fn digest_attributes(attributes: &BTreeMap<String, MessageAttribute>) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut digest = Md5::new();
    for (name, attribute) in attributes {
        let (transport, value) = attribute.transport_value();
        add_with_length(&mut digest, name.as_bytes());
        add_with_length(&mut digest, attribute.data_type.as_bytes());
        digest.update([transport]);
        add_with_length(&mut digest, &value);
    }
    Some(hex::encode(digest.finalize()))
}

fn add_with_length(digest: &mut Md5, bytes: &[u8]) {
    digest.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    digest.update(bytes);
}
