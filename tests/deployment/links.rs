//! Links and paths in the documents.

use std::collections::BTreeSet;
use std::fs;

use crate::tree::{list_files, read_file, workspace_root};

/// Returns the documents of the repository as paths below its root.
fn documents() -> Vec<String> {
    let all = list_files("").into_iter().map(|(path, _)| path);
    all.filter(|path| path.ends_with(".md")).collect()
}

/// Returns the targets of the links in a document, without those to other hosts.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for part in text.split("](").skip(1) {
        let target = part.split(')').next().unwrap_or_default();

        if !target.starts_with("http") && !target.contains(char::is_whitespace) {
            links.push(target.to_owned());
        }
    }
    links
}

/// Returns the anchors of the headings of a document, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        anchors.insert(kept.collect::<String>().replace(' ', "-"));
    }
    anchors
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let mut checked = 0;
    for document in documents() {
        for link in links(&read_file(&document)) {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let document_path = workspace_root().join(&document);
            let place = match target {
                "" => document_path,
                target => document_path.with_file_name(target),
            };
            assert!(
                place.exists(),
                "{document} links to {link}, which does not exist"
            );

            if !anchor.is_empty() {
                let text = fs::read_to_string(place).expect("a document");
                assert!(
                    anchors(&text).contains(anchor),
                    "{document}: no heading for {link}"
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} links were found");
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let summary = read_file("docs/SUMMARY.md");
    for document in documents() {
        let Some(page) = document.strip_prefix("docs/") else {
            continue;
        };
        let is_listed = page == "SUMMARY.md" || summary.contains(&format!("]({page})"));
        assert!(is_listed, "docs/SUMMARY.md does not list {page}");
    }
}
