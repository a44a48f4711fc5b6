//! Parses the messages of S3 about new objects (user guide, "event message structure").

use domain::ports::UploadArrival;
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::table_keys;

/// A message of S3: records of objects, or the test message that S3 sends when notifications are
/// set up.
#[derive(Deserialize)]
#[serde(untagged)]
enum S3Message {
    Records {
        #[serde(rename = "Records")]
        records: Vec<EventRecord>,
    },
    Test {
        #[serde(rename = "Event")]
        event: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventRecord {
    event_name: String,
    s3: EventSubject,
}

#[derive(Deserialize)]
struct EventSubject {
    bucket: Bucket,
    object: Object,
}

#[derive(Deserialize)]
struct Bucket {
    name: String,
}

#[derive(Deserialize)]
struct Object {
    key: String,
}

/// Parses a message and returns the new objects of `bucket` that it names. Returns `None` if the
/// message is not one of S3.
pub(crate) fn parse_arrivals(bucket: &str, message: &str) -> Option<Vec<UploadArrival>> {
    match serde_json::from_str(message).ok()? {
        S3Message::Test { event } => (event == "s3:TestEvent").then(Vec::new),
        S3Message::Records { records } => {
            let mut arrivals = Vec::new();
            for record in &records {
                if record.event_name.starts_with("ObjectCreated:")
                    && record.s3.bucket.name == bucket
                {
                    arrivals.extend(parse_arrival(&record.s3.object.key));
                }
            }
            Some(arrivals)
        }
    }
}

/// Parses an object key, which is encoded as in a form: `+` for a space, other bytes escaped.
fn parse_arrival(key: &str) -> Option<UploadArrival> {
    let key = key.replace('+', " ");
    let key = percent_decode_str(&key).decode_utf8().ok()?;
    let (org, path) = table_keys::parse_object(&key)?;
    Some(UploadArrival { org, path })
}

#[cfg(test)]
mod tests {
    use domain::OrgId;

    use super::*;

    fn record(event: &str, bucket: &str, key: &str) -> String {
        format!(
            r#"{{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"eu-central-1",
            "eventTime":"2026-01-01T00:00:00.000Z","eventName":"{event}","userIdentity":{{"principalId":"AWS:x"}},
            "requestParameters":{{"sourceIPAddress":"127.0.0.1"}},"responseElements":{{"x-amz-request-id":"x"}},
            "s3":{{"s3SchemaVersion":"1.0","configurationId":"uploads","bucket":{{"name":"{bucket}",
            "ownerIdentity":{{"principalId":"x"}},"arn":"arn:aws:s3:::{bucket}"}},
            "object":{{"key":"{key}","size":4,"eTag":"x","sequencer":"0055AED6DCD90281E5"}}}}}}"#
        )
    }

    fn parsed(records: &[String]) -> Vec<(String, String)> {
        let message = format!(r#"{{"Records":[{}]}}"#, records.join(","));
        let arrivals = parse_arrivals("content", &message).unwrap();
        arrivals
            .into_iter()
            .map(|arrival| (arrival.org.as_str().to_owned(), arrival.path))
            .collect()
    }

    #[test]
    fn all_records_of_a_message_are_read_and_their_keys_decoded() {
        let records = [
            record(
                "ObjectCreated:Post",
                "content",
                "acme/d/one+two%2Bthree/upload",
            ),
            record("ObjectCreated:Put", "content", "beta%2Fd%2F%C3%BC/upload"),
        ];

        let expected = [
            ("acme", "d/one two+three/upload"),
            ("beta", "d/\u{fc}/upload"),
        ];

        assert_eq!(
            parsed(&records),
            expected.map(|(org, path)| (org.to_owned(), path.to_owned()))
        );
    }

    #[test]
    fn what_is_not_about_a_new_object_of_ours_is_left_out() {
        let records = [
            record("ObjectCreated:Put", "other", "acme/d/upload"),
            record("ObjectRemoved:Delete", "content", "acme/d/upload"),
            record("ObjectCreated:Put", "content", "upload"),
            record("ObjectCreated:Put", "content", "acme/"),
            record("ObjectCreated:Put", "content", "Not+An+Org/d/upload"),
            record("ObjectCreated:Put", "content", "acme/%FF/upload"),
        ];
        assert_eq!(parsed(&records), []);
        assert_eq!(parsed(&[]), []);
    }

    #[test]
    fn the_message_that_comes_first_is_about_nothing() {
        let message = r#"{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-01-01T00:00:00.000Z",
            "Bucket":"content","RequestId":"x","HostId":"x"}"#;
        assert_eq!(parse_arrivals("content", message), Some(Vec::new()));
    }

    #[test]
    fn other_messages_are_none() {
        let org = OrgId::parse("acme").unwrap();
        let others = [
            String::new(),
            "text".into(),
            "[]".into(),
            "{}".into(),
            r#"{"Records":"none"}"#.into(),
            r#"{"Records":[{"eventName":"ObjectCreated:Put"}]}"#.into(),
            r#"{"Event":"other"}"#.into(),
            format!(r#"{{"org":"{org}","job":{{"type":"purge.v1"}}}}"#),
        ];
        for message in others {
            assert_eq!(parse_arrivals("content", &message), None, "{message}");
        }
    }
}
