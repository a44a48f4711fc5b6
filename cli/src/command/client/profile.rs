//! `recollect profile`: shows what is known at a glance.

use anyhow::Result;
use serde_json::{Value, json};

use super::api::{choose_container, post};
use super::output::{Outcome, Output, one_line};
use super::target::{OpenService, Purpose};
use crate::arguments::Profile;

pub(super) async fn run_profile(options: Profile) -> Result<Outcome> {
    let output = Output::stdout(options.output.json);
    let service = OpenService::open(&options.target, Purpose::Read).await?;
    let tag = choose_container(&service.client, options.tag.as_deref()).await?;
    let answer = post(
        &service.client,
        "/v4/profile",
        &json!({"containerTag": tag}),
    )
    .await?;
    service.close().await;

    let text = format_profile(&output, &tag, &answer["profile"]);
    let is_empty = text.is_none();
    match (output.is_json, text) {
        (true, _) => output.print_json(&answer)?,
        (false, Some(text)) => output.print(&text)?,
        (false, None) => output.print(&format!(
            "Nothing is known of {tag} yet. Memories come from what people say, as in conversations and \
             notes added with --own-words.\n"
        ))?,
    }
    Ok(match is_empty {
        true => Outcome::NothingFound,
        false => Outcome::Done,
    })
}

/// Returns the sections of a profile, or `None` if all are empty.
fn format_profile(output: &Output, tag: &str, profile: &Value) -> Option<String> {
    let mut sections = String::new();
    for (title, sentences) in [
        ("Lasting", &profile["static"]),
        ("Recent", &profile["dynamic"]),
    ] {
        sections += &format_section(output, title, sentences);
    }
    let buckets = profile["buckets"].as_object().into_iter().flatten();
    for (name, sentences) in buckets {
        sections += &format_section(output, &one_line(name), sentences);
    }

    let title = output.bold(&format!("Profile of {tag}"));
    (!sections.is_empty()).then(|| format!("{title}\n{sections}"))
}

fn format_section(output: &Output, title: &str, sentences: &Value) -> String {
    let sentences = sentences.as_array().into_iter().flatten();
    let mut text = String::new();
    for sentence in sentences.filter_map(Value::as_str) {
        let lines = output.wrap(sentence, 4);
        text += &format!("  • {}\n", lines.join("\n    "));
    }
    match text.is_empty() {
        true => text,
        false => format!("\n{title}\n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_shows_its_sections_that_have_something() {
        let output = Output::plain(Some(34));
        let profile = json!({
            "static": ["Prefers tea over coffee, always, as everybody knows."], "dynamic": [],
            "buckets": {"goals": ["Learn to sail."], "none": []},
        });
        let expected = "\
Profile of ada

Lasting
  • Prefers tea over coffee,
    always, as everybody knows.

goals
  • Learn to sail.
";
        let text = format_profile(&output, "ada", &profile);
        assert_eq!(text.as_deref(), Some(expected));
        let empty = json!({"static": [], "buckets": {"none": []}});
        assert_eq!(format_profile(&output, "ada", &empty), None);
    }
}
