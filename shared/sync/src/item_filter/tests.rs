use super::*;

fn rules(patterns: &[&str], folders: &[&str]) -> ItemRules {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    ItemRules {
        patterns: owned(patterns),
        folders: owned(folders),
        sent: None,
    }
}

fn record(path: &str, kind: Option<DocumentType>) -> ItemRecord {
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    ItemRecord {
        id: "f".into(),
        name,
        path: path.into(),
        kind,
        ..crate::queue::empty_record()
    }
}

#[test]
fn patterns_match_names_and_with_a_slash_paths() {
    let file = "/My Drive/Projects/Alpha/Plan (v2).PDF";
    let cases = [
        ("*.pdf", true),
        ("plan*", true),
        ("*.doc", false),
        ("Projects/*.pdf", false),
        ("Projects/**/*.pdf", true),
        ("/projects/alpha/*", true),
        ("My Drive/Projects/**", true),
        ("Projects/", true),
        ("Alpha/*", false),
        ("**/Alpha/*", true),
        ("{*.pdf,*.txt}", true),
        ("*", true),
    ];

    for (pattern, matches) in cases {
        let matcher = RuleMatcher::of(&rules(&[pattern], &[])).unwrap();
        assert_eq!(
            matcher.matches_file(&FileNames::of(&record(file, None)), &[]),
            matches,
            "{pattern}"
        );
    }
}

#[test]
fn a_slash_in_a_name_makes_no_folder() {
    let path = crate::item_paths::join_path(
        &crate::item_paths::join_path("/My Drive", "Q1/Q2"),
        "Private/Pay.pdf",
    );
    let file = ItemRecord {
        name: "Private/Pay.pdf".into(),
        ..record(&path, None)
    };

    for (pattern, folder, matches) in [
        ("*.pdf", "", true),
        ("private*", "", true),
        ("**/*pay.pdf", "", true),
        ("", "Private", false),
        ("", "Q1", false),
        ("", "My Drive/Q1", false),
    ] {
        let one = |rule: &'static str| if rule.is_empty() { vec![] } else { vec![rule] };
        let matcher = RuleMatcher::of(&rules(&one(pattern), &one(folder))).unwrap();
        assert_eq!(
            matcher.matches_file(&FileNames::of(&file), &[]),
            matches,
            "{pattern}{folder}"
        );
    }
}

#[test]
fn files_of_the_drive_have_endings_as_on_a_disk() {
    let cases = [
        (Some(DocumentType::CloudDoc), "*.gdoc", true),
        (Some(DocumentType::CloudSheet), "q3.gsheet", true),
        (Some(DocumentType::CloudSlide), "**/*.gslides", true),
        (Some(DocumentType::CloudDoc), "*.gsheet", false),
        (Some(DocumentType::CloudDoc), "q3", true),
        (None, "*.gdoc", false),
    ];
    for (kind, pattern, matches) in cases {
        let matcher = RuleMatcher::of(&rules(&[pattern], &[])).unwrap();
        let names = FileNames::of(&record("/My Drive/Q3", kind));
        assert_eq!(
            matcher.matches_file(&names, &[]),
            matches,
            "{kind:?} {pattern}"
        );
    }
}

#[test]
fn folders_match_by_name_by_path_and_by_id() {
    let cases = [
        ("Alpha", true),
        ("alpha", true),
        ("Alph", false),
        ("Projects/Alpha", true),
        ("/My Drive/Projects", true),
        ("Projects/Al", false),
        ("Alpha/", false),
        ("a.txt", false),
        ("id:up", true),
        ("id:other", false),
    ];
    let names = FileNames::of(&record("/My Drive/Projects/Alpha/a.txt", None));

    for (folder, matches) in cases {
        let matcher = RuleMatcher::of(&rules(&[], &[folder])).unwrap();
        assert_eq!(
            matcher.matches_file(&names, &["f".into(), "up".into()]),
            matches,
            "{folder}"
        );
    }
}

#[test]
fn excluding_wins_and_nothing_included_is_everything() {
    let with = |include: Option<ItemRules>, exclude: Option<ItemRules>, on: bool| Settings {
        should_llm_filter: Some(on),
        include_items: include,
        exclude_items: exclude,
        ..Settings::default()
    };

    let (md, secret) = (Some(rules(&["*.md"], &[])), Some(rules(&["secret*"], &[])));
    let cases = [
        ("/D/a.md", with(None, None, true), None),
        ("/D/a.md", with(Some(rules(&[], &[])), None, true), None),
        ("/D/a.md", with(md.clone(), secret.clone(), true), None),
        (
            "/D/a.txt",
            with(md.clone(), secret.clone(), true),
            Some(SkipReason::NotIncluded),
        ),
        (
            "/D/secret.md",
            with(md.clone(), secret.clone(), true),
            Some(SkipReason::Excluded),
        ),
        ("/D/secret.md", with(md, secret, false), None),
    ];
    for (path, settings, reason) in cases {
        let filter = ItemFilter::of(&settings, false);
        assert_eq!(
            filter.skip_reason(&record(path, None), &[]),
            reason,
            "{path}"
        );
    }

    let large = ItemRecord {
        size: Some(MAX_FILE_BYTES as u64 + 1),
        ..record("/D/a", None)
    };

    assert_eq!(
        ItemFilter::default().skip_reason(&large, &[]),
        Some(SkipReason::TooLarge)
    );
}

#[test]
fn patterns_that_cannot_be_read_are_named() {
    for bad in ["[abc", "a{b", "x/[z"] {
        let error = RuleMatcher::of(&rules(&["*.md", bad], &[])).unwrap_err();
        assert!(error.contains(bad), "{error}");
    }
    assert!(RuleMatcher::of(&rules(&["*.md", "a/**"], &["Old", "id:x", "a/b"])).is_ok());
}

#[test]
fn a_verdict_holds_for_a_content_and_a_prompt() {
    let with = |prompt: &str| Settings {
        should_llm_filter: Some(true),
        filter_prompt: Some(prompt.into()),
        ..Settings::default()
    };

    let filter = ItemFilter::of(&with("Keep plans."), true);
    let mut file = ItemRecord {
        content_version: "m1".into(),
        ..record("/D/a", None)
    };

    assert_eq!(filter.model_verdict(&file), None);
    file.verdict = filter.format_verdict("m1", false, "about: lunch");
    assert_eq!(filter.model_verdict(&file), Some(false));
    assert_eq!(
        ItemFilter::of(&with("Keep lunch."), true).model_verdict(&file),
        None
    );
    assert_eq!(
        filter.model_verdict(&ItemRecord {
            content_version: "m2".into(),
            ..file.clone()
        }),
        None
    );
    assert_eq!(ItemFilter::default().model_verdict(&file), Some(true));
    assert_ne!(
        filter.digest,
        ItemFilter::of(&with("Keep plans."), false).digest
    );
}
