//! The cost of files that are built to be slow: the time to read n, 2n and 4n repetitions, and the
//! time for which a line of text of another organization waits while twelve such files are read.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use content::{ContentSource, extract_document};
use domain::key::{KeyKind, KeySpec, Permission};
use domain::{OrgId, Tenant};
use sandbox::Sandbox;
use serde_json::{Value, json};
use service::create_key;

use crate::make;
use crate::rig::{BenchSystem, percentiles};

/// The number of measurements of each time. The shortest counts.
const TIMES: usize = 3;
/// The number of files in one flood.
const FLOOD: usize = 12;
/// The number of lines that another organization sends during a flood.
const LINES: usize = 5;
/// The longest time that such a line may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// A kind of file that repeats something.
struct HostileFile {
    name: &'static str,
    file: &'static str,
    /// The smallest number of repetitions that is measured. The files of a flood have four times as
    /// many.
    n: usize,
    make: fn(usize) -> Vec<u8>,
}

impl HostileFile {
    const fn nested_html(name: &'static str, n: usize, make: fn(usize) -> Vec<u8>) -> Self {
        Self {
            name,
            file: "a.html",
            n,
            make,
        }
    }
}

const SHAPES: [HostileFile; 18] = [
    HostileFile::nested_html("attributes of one tag", 45_000, build_attributes),
    HostileFile::nested_html("attributes of many tags", 45_000, tags_with_attributes),
    HostileFile::nested_html("nested elements", 80_000, |n| {
        build_page(&"<div>".repeat(n))
    }),
    HostileFile::nested_html("nested tables", 25_000, |n| {
        build_page(&"<table><tr><td>".repeat(n))
    }),
    HostileFile::nested_html("open formatting", 60_000, |n| {
        build_page(&"<p><b>x".repeat(n))
    }),
    HostileFile::nested_html("misnested formatting", 28_000, |n| {
        build_page(&"<a><b></a>x</b>".repeat(n))
    }),
    HostileFile::nested_html("paragraphs", 50_000, |n| {
        build_page(&"<p>word</p>".repeat(n))
    }),
    HostileFile::nested_html("table cells", 50_000, |n| {
        build_page(&format!("<table><tr>{}", "<td>x</td>".repeat(n)))
    }),
    HostileFile::nested_html("list items", 50_000, |n| build_page(&"<ul><li>x".repeat(n))),
    HostileFile::nested_html("entities", 90_000, |n| build_page(&"&amp;".repeat(n))),
    HostileFile::nested_html("entities in attributes", 90_000, |n| {
        build_page(&format!("<p title='{}'>x", "&amp;".repeat(n)))
    }),
    HostileFile {
        name: "commas",
        file: "a.csv",
        n: 450_000,
        make: |n| format!("a,b\n{}", "1,2\n".repeat(n / 4)).into_bytes(),
    },
    HostileFile {
        name: "RTF groups",
        file: "a.rtf",
        n: 200_000,
        make: build_rtf,
    },
    HostileFile {
        name: "mail parts",
        file: "a.eml",
        n: 10_000,
        make: build_mail,
    },
    HostileFile {
        name: "Word paragraphs",
        file: "a.docx",
        n: 50_000,
        make: |n| make::docx(&"<w:p><w:r><w:t>word</w:t></w:r></w:p>".repeat(n)),
    },
    HostileFile {
        name: "Word table rows",
        file: "a.docx",
        n: 20_000,
        make: word_table,
    },
    HostileFile {
        name: "cells",
        file: "a.xlsx",
        n: 100_000,
        make: build_sheet,
    },
    HostileFile {
        name: "PDF text operators",
        file: "a.pdf",
        n: 50_000,
        make: build_pdf,
    },
];

fn build_page(body: &str) -> Vec<u8> {
    format!("<!doctype html><html><head><title>Page</title></head><body>{body}").into_bytes()
}

fn build_attributes(n: usize) -> Vec<u8> {
    let attributes: String = (0..n).map(|i| format!(" a{i}=1")).collect();
    build_page(&format!("<p{attributes}>text</p>"))
}

fn tags_with_attributes(n: usize) -> Vec<u8> {
    let tag: String = (0..200).map(|i| format!(" a{i}=1")).collect();
    build_page(&format!("<p{tag}>text</p>").repeat(n / 200))
}

fn build_rtf(n: usize) -> Vec<u8> {
    format!(
        r"{{\rtf1\ansi {}word{}}}",
        r"{\b ".repeat(n / 2),
        "}".repeat(n / 2)
    )
    .into_bytes()
}

fn build_mail(n: usize) -> Vec<u8> {
    let part = "--b\r\nContent-Type: text/plain\r\n\r\nA part.\r\n".repeat(n);
    let head =
        "From: ada@example.com\r\nTo: ben@example.com\r\nSubject: Parts\r\nMIME-Version: 1.0\r\n";
    format!("{head}Content-Type: multipart/mixed; boundary=b\r\n\r\n{part}--b--\r\n").into_bytes()
}

fn word_table(n: usize) -> Vec<u8> {
    let row = "<w:tr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr>";
    make::docx(&format!("<w:tbl>{}</w:tbl>", row.repeat(n)))
}

fn build_sheet(n: usize) -> Vec<u8> {
    let row = |row: usize| {
        format!(
            "<row>{}{}</row>",
            make::cell(&format!("A{row}"), "x"),
            make::cell(&format!("B{row}"), "y")
        )
    };
    make::xlsx(&(1..=n / 2).map(row).collect::<String>())
}

/// Builds a PDF of one page that shows `n` words.
fn build_pdf(n: usize) -> Vec<u8> {
    let shown = format!("BT /F 9 Tf 9 TL 20 800 Td {}ET", "(word) Tj T* ".repeat(n));
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 850] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{shown}\nendstream", shown.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let (mut file, mut places) = ("%PDF-1.4\n".to_owned(), Vec::new());
    for (index, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }

    let begin = file.len();
    file.push_str(&format!(
        "xref\n0 {}\n0000000000 65535 f \n",
        objects.len() + 1
    ));
    file.extend(places.iter().map(|place| format!("{place:010} 00000 n \n")));
    file.push_str(&format!(
        "trailer << /Size {} /Root 1 0 R >>\nstartxref\n{begin}\n%%EOF\n",
        objects.len() + 1
    ));

    file.into_bytes()
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run() -> Result<()> {
    println!("shape                      KB at 4n    n ms   2n ms   4n ms  4n to n  outcome");
    for shape in &SHAPES {
        let bytes = (shape.make)(4 * shape.n).len() / 1000;
        let times = [1, 2, 4].map(|times| measure_read(shape, times * shape.n));
        let [one, two, four] = times
            .each_ref()
            .map(|(time, _)| time.as_secs_f64() * 1000.0);
        let outcome = &times[2].1;
        println!(
            "{:<26} {bytes:>8} {one:>7.0} {two:>7.0} {four:>7.0} {:>8.1}  {outcome}",
            shape.name,
            four / one
        );
    }

    println!(
        "\n{FLOOD} files at 4n of one organization; {LINES} lines of another, one after the other"
    );
    println!("shape                      line p50 ms     max ms  flood s");
    for shape in &SHAPES {
        measure_flood(shape).await?;
    }
    Ok(())
}

/// Returns the shortest time to read the file, and the outcome.
fn measure_read(shape: &HostileFile, n: usize) -> (Duration, String) {
    let bytes = (shape.make)(n);
    let source = ContentSource {
        bytes: &bytes,
        name: Some(shape.file),
        declared_type: None,
    };

    let mut best = (Duration::MAX, String::new());
    for _ in 0..TIMES {
        let begun = Instant::now();
        let outcome = match extract_document(&source) {
            Ok(read) => format!("{} KB of text", read.text.len() / 1000),
            Err(failure) => failure.code.as_str().to_owned(),
        };
        best = best.min((begun.elapsed(), outcome));
    }

    best
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_flood(shape: &HostileFile) -> Result<()> {
    let mut rig = BenchSystem::with_sandbox(Sandbox::in_child(std::env::current_exe()?)).await?;
    let tenant = Tenant::for_operator(OrgId::parse("quiet")?);
    let plan = KeySpec {
        name: "quiet".into(),
        kind: KeyKind::Full,
        permission: Permission::Write,
        tags: None,
        expires_at: None,
        rate_limit: None,
    };

    let key = create_key(&rig.system.ctx, &tenant, plan).await?.key_text;
    let bytes = (shape.make)(4 * shape.n);
    for number in 0..FLOOD {
        rig.upload_file("hostile", &format!("{number}-{}", shape.file), &bytes)
            .await?;
    }

    let begun = Instant::now();
    rig.start_workers().await?;
    let mut times = Vec::new();
    for number in 0..LINES {
        let sent = Instant::now();
        let body = json!({"content": format!("The ferry number {number} leaves at noon.")});
        let answer = rig.call_as(&key, "POST", "/v3/documents", &body).await?;
        let path = format!("/v3/documents/{}", answer["id"].as_str().context("an id")?);
        while rig.call_as(&key, "GET", &path, &Value::Null).await?["status"] != "done" {
            if sent.elapsed() > PATIENCE {
                bail!("a line waits for more than {} s", PATIENCE.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        times.push(sent.elapsed());
    }

    let (middle, _, longest) = percentiles(&mut times);
    rig.wait_until_idle().await?;
    println!(
        "{:<26} {middle:>11.0} {longest:>10.0} {:>8.1}",
        shape.name,
        begun.elapsed().as_secs_f64()
    );
    rig.stop_workers().await;

    Ok(())
}
