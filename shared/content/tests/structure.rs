//! Tests that chunks follow the structure of code and data, and that changes elsewhere do not
//! affect them.

use std::collections::HashMap;

use content::{Chunk, ChunkOptions, Format, split_into_chunks};

fn chunk_text(text: &str, format: Format, target: usize) -> Vec<Chunk> {
    split_into_chunks(
        text,
        format,
        &ChunkOptions {
            target_chars: target,
            ..ChunkOptions::default()
        },
    )
}

/// Returns the path above the chunk that contains `part`.
fn path_above(chunks: &[Chunk], part: &str) -> String {
    let found = chunks.iter().find(|chunk| chunk.text.contains(part));
    found
        .unwrap_or_else(|| panic!("{part:?} is torn"))
        .headings
        .join(" > ")
}

/// Writes a function with a name and lines in some language.
type Function = dyn Fn(&str, &str) -> String;

/// Returns the code of a container with three functions, the last of them too long for a chunk.
fn sample_code(open: &str, function: &Function, close: &str) -> String {
    let lines = |prefix: &str, count: usize| {
        (0..count)
            .map(|n| format!("        {prefix}{n}();\n"))
            .collect::<String>()
    };
    let functions = [("alpha", 4), ("beta", 4), ("gamma", 40)];
    let body: String = functions
        .iter()
        .map(|(name, count)| function(name, &lines(name, *count)) + "\n")
        .collect();
    format!("{open}\n{body}{close}\n")
}

#[test]
fn definitions_stay_whole_under_the_signatures_around_them() {
    let braces = |head: &'static str| {
        move |name: &str, lines: &str| {
            format!(
                "    // About {name}.\n    {head} {name}(\n        a: A,\n    ) {{\n{lines}    }}\n"
            )
        }
    };

    let allman = |name: &str, lines: &str| {
        format!(
            "    // About {name}.\n    [Route]\n    public void {name}(A a)\n    {{\n{lines}    }}\n"
        )
    };

    let python = |name: &str, lines: &str| {
        format!(
            "    # About {name}.\n    @cached\n    def {name}(self, a):\n{}",
            lines.replace(';', "")
        )
    };

    let ruby = |name: &str, lines: &str| {
        format!("    # About {name}.\n    def {name}(a)\n{lines}    end\n")
    };

    let cases: [(&str, &str, &Function, &str, &str, &str); 9] = [
        (
            "Rust",
            "#[derive(Debug)]\nimpl Index for Store {",
            &braces("pub fn"),
            "}",
            "impl Index for Store",
            "pub fn gamma(a: A,)",
        ),
        (
            "TypeScript",
            "export class Store {",
            &braces("async"),
            "}",
            "export class Store",
            "async gamma(a: A,)",
        ),
        (
            "JavaScript",
            "module.exports = {",
            &braces("function"),
            "};",
            "module.exports",
            "function gamma(a: A,)",
        ),
        (
            "Java",
            "@Entity\npublic class Store {",
            &braces("public void"),
            "}",
            "public class Store",
            "public void gamma(a: A,)",
        ),
        (
            "Go",
            "var store = Store{",
            &braces("func"),
            "}",
            "var store = Store",
            "func gamma(a: A,)",
        ),
        (
            "C++",
            "namespace store\n{",
            &allman,
            "}",
            "namespace store",
            "public void gamma(A a)",
        ),
        (
            "C#",
            "public class Store : IStore\n{",
            &allman,
            "}",
            "public class Store : IStore",
            "public void gamma(A a)",
        ),
        (
            "Python",
            "class Store(Base):",
            &python,
            "",
            "class Store(Base)",
            "def gamma(self, a)",
        ),
        (
            "Ruby",
            "class Store < Base",
            &ruby,
            "end",
            "class Store < Base",
            "def gamma(a)",
        ),
    ];
    for (language, open, function, close, outer, inner) in cases {
        let text = format!("use a;\nuse b;\n\n{}", sample_code(open, function, close));
        let chunks = chunk_text(&text, Format::Code, 200);
        assert_eq!(path_above(&chunks, "use b"), "", "{language}");
        for name in ["alpha", "beta"] {
            let chunk = chunks
                .iter()
                .find(|chunk| chunk.text.contains(&format!("About {name}.")))
                .unwrap();
            assert!(
                (0..4).all(|n| chunk.text.contains(&format!("{name}{n}()"))),
                "{language}: {}",
                chunk.text
            );
            assert_eq!(chunk.headings, [outer], "{language}");
        }
        for n in [1, 20, 39] {
            let inner = inner.replace(",)", ")");
            assert_eq!(
                path_above(&chunks, &format!("gamma{n}()")).replace(",)", ")"),
                format!("{outer} > {inner}"),
                "{language}"
            );
        }
    }
}

#[test]
fn functions_of_c_and_shell_are_found_at_the_top() {
    let lines: String = (0..30).map(|n| format!("    step{n};\n")).collect();

    for (text, signature) in [
        (
            format!(
                "#include <a.h>\n\n/* About it.\n more */\nstatic int run(int a,\n               int b)\n{{\n{lines}    return 0;\n}}\n"
            ),
            "static int run(int a, int b)",
        ),
        (
            format!("set -e\n\n# About it.\nrun() {{\n{lines}}}\n"),
            "run()",
        ),
    ] {
        assert_eq!(
            path_above(&chunk_text(&text, Format::Code, 150), "step20"),
            signature
        );
    }
}

#[test]
fn branches_are_cut_but_define_nothing() {
    let lines = |name: &str| {
        (0..30)
            .map(|n| format!("        {name}{n}()\n"))
            .collect::<String>()
    };
    let text = format!(
        "def run(a):\n    if a:\n{}    else:\n{}",
        lines("yes"),
        lines("no")
    );
    assert_eq!(
        path_above(&chunk_text(&text, Format::Code, 150), "no20"),
        "def run(a)"
    );
}

#[test]
fn members_of_json_are_not_torn_and_know_their_keys() {
    let users: Vec<String> = (0..40)
        .map(|n| format!(r#"{{"id": {n}, "name": "a, b}} \" {n}"}}"#))
        .collect();

    for (open, comma, close) in [
        ("{\"site\": {\"users\": [", ", ", "]}, \"end\": 1}"),
        (
            "{\n  \"site\": {\n    \"users\": [\n",
            ",\n      ",
            "\n    ]\n  },\n  \"end\": 1\n}",
        ),
    ] {
        let text = format!("{open}{}{close}", users.join(comma));
        let chunks = chunk_text(&text, Format::Data, 120);
        assert!(chunks.len() > 5);
        for user in &users {
            assert_eq!(path_above(&chunks, user), "site > users");
        }
    }

    let lines = users.join("\n");

    assert!(
        users
            .iter()
            .all(|user| path_above(&chunk_text(&lines, Format::Data, 120), user).is_empty())
    );
}

#[test]
fn items_of_yaml_and_toml_are_not_torn_and_know_their_keys() {
    let items: String = (0..30)
        .map(|n| format!("- name: user {n}\n  mail: u{n}@example.org\n"))
        .collect();
    let text = format!("# About users.\nsite:\n  title: x\nusers:\n{items}last: 1\n");
    let chunks = chunk_text(&text, Format::Data, 120);
    assert!(
        (0..30)
            .all(|n| path_above(&chunks, &format!("- name: user {n}\n  mail: u{n}@")) == "users")
    );
    let entries: String = (0..30)
        .map(|n| format!("key{n} = \"value {n}\"\n"))
        .collect();
    let chunks = chunk_text(
        &format!("a = 1\n\n[server.limits]\n{entries}\n[end]\nb = 2\n"),
        Format::Data,
        120,
    );

    assert!(
        (0..30).all(|n| path_above(&chunks, &format!("key{n} = \"value {n}\"")) == "server.limits")
    );
}

#[test]
fn later_parts_of_a_table_know_its_header() {
    let rows: String = (0..40).map(|n| format!("| A{n} | {n} |\n")).collect();
    let text = format!("# Berths\n\n| Berth | Fee |\n| --- | --- |\n{rows}");
    let chunks = chunk_text(&text, Format::Xlsx, 100);
    assert!(chunks.len() > 3);
    assert_eq!(path_above(&chunks, "| A1 |"), "Berths");
    assert_eq!(path_above(&chunks, "| A39 |"), "Berths > Berth | Fee");
    assert!((0..40).all(|n| {
        chunks
            .iter()
            .any(|chunk| chunk.text.contains(&format!("| A{n} | {n} |")))
    }));
}

#[test]
fn items_of_a_list_are_not_torn() {
    let items: Vec<String> = (0..40)
        .map(|n| format!("- Item {n}. It has two sentences."))
        .collect();
    let chunks = chunk_text(&items.join("\n"), Format::Markdown, 150);
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk.text.starts_with("- Item") && chunk.text.ends_with("sentences."))
    );
}

/// A generator of reproducible pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits fit") % limit
    }

    fn sentence(&mut self) -> String {
        let words: Vec<String> = (0..5 + self.next(14))
            .map(|_| format!("w{}", self.next(5000)))
            .collect();
        format!("The {}.", words.join(" "))
    }

    fn paragraph(&mut self, sentences: (usize, usize)) -> String {
        let count = sentences.0 + self.next(sentences.1 - sentences.0);
        (0..count)
            .map(|_| self.sentence())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Counts the chunks of `after` that are not among those of `before`.
fn count_changed_chunks(before: &[Chunk], after: &[Chunk]) -> usize {
    let mut remaining: HashMap<&str, usize> = HashMap::new();
    for chunk in before {
        *remaining.entry(&chunk.text).or_default() += 1;
    }
    let is_new = |chunk: &&Chunk| match remaining.get_mut(chunk.text.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    after.iter().filter(is_new).count()
}

#[test]
fn a_changed_paragraph_leaves_the_other_chunks_as_they_were() {
    let mut numbers = Numbers(7);
    let options = ChunkOptions::default();

    for (sentences, separator) in [
        ((1, 2), "\n\n"),
        ((2, 4), "\n\n"),
        ((3, 9), "\n\n"),
        ((5, 6), "\n\n"),
        ((10, 30), "\n\n"),
        ((1, 2), " "),
        ((1, 2), "\n"),
    ] {
        let mut paragraphs = Vec::new();
        while paragraphs.iter().map(String::len).sum::<usize>() < 90_000 {
            paragraphs.push(numbers.paragraph(sentences));
        }
        let before = split_into_chunks(&paragraphs.join(separator), Format::Text, &options);
        let mean = before
            .iter()
            .map(|chunk| chunk.end - chunk.start)
            .sum::<usize>()
            / before.len();
        assert!((800..1100).contains(&mean), "chunks of {mean} characters");
        let mut counts: Vec<usize> = (0..60)
            .map(|round| {
                let mut edited = paragraphs.clone();
                let at = numbers.next(edited.len());
                match round % 3 {
                    0 => edited[at] = numbers.paragraph(sentences),
                    1 => edited.insert(at, numbers.paragraph(sentences)),
                    _ => drop(edited.remove(at)),
                }
                count_changed_chunks(
                    &before,
                    &split_into_chunks(&edited.join(separator), Format::Text, &options),
                )
            })
            .collect();
        counts.sort_unstable();
        assert!(
            counts[54] <= 4 && counts[59] <= 8,
            "{sentences:?} joined by {separator:?}: {counts:?}"
        );
    }
}
