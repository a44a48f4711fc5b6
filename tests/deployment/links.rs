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
    let book = workspace_root()
        .join("docs")
        .canonicalize()
        .expect("a folder");
    let mut checked = 0;
    for document in documents() {
        for link in links(&read_file(&document)) {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            // The book has only its own pages.
            let leaves_book = document.starts_with("docs/")
                && workspace_root()
                    .join(&document)
                    .with_file_name(target)
                    .canonicalize()
                    .is_ok_and(|path| !path.starts_with(&book));
            assert!(!leaves_book, "{document} links to {link}, outside the book");
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

/// Returns the paths of Rust items that a document names between backquotes, each divided at `::`.
fn item_paths(text: &str) -> Vec<Vec<&str>> {
    let is_identifier = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(|code| code.split(['<', '(', ' ']).next().unwrap_or_default())
        .map(|code| code.split("::").collect::<Vec<_>>())
        .filter(|parts| parts.len() > 1 && parts.iter().all(|part| is_identifier(part)))
        .collect()
}

/// Checks whether the sources of a crate define an item of this name.
fn defines(sources: &str, name: &str) -> bool {
    let keywords = ["fn", "struct", "enum", "trait", "type", "mod", "const"];
    keywords.iter().any(|keyword| {
        sources
            .split(&format!("{keyword} {name}"))
            .skip(1)
            .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

#[test]
fn every_item_that_the_documents_name_exists() {
    let mut checked = 0;
    for document in documents() {
        for parts in item_paths(&read_file(&document)) {
            let (crate_name, items) = parts.split_first().expect("a crate");
            let package = crate_name.replace('_', "-");
            let folder = ["shared", "functions", "tests/support"]
                .map(|group| format!("{group}/{package}/src"))
                .into_iter()
                .find(|folder| workspace_root().join(folder).is_dir());
            let Some(folder) = folder else { continue };

            let files = list_files(&folder).into_iter();
            let sources: String = files.map(|(path, _)| read_file(&path)).collect();
            for item in items {
                assert!(
                    defines(&sources, item),
                    "{document} names {}, but {folder} has no {item}",
                    parts.join("::")
                );
            }
            checked += 1;
        }
    }

    assert!(checked > 40, "only {checked} paths were found");
}
