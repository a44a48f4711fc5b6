//! Extraction of real files: outcome, rate, memory, and the share of another extractor's text that
//! is found.
//!
//! Each file goes through [`Sandbox::in_child`] as in the server; this executable is the child. The
//! only difference is that the child sends its peak memory, time and panics to a socket, which is
//! in the folder of the name by which it was started.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use sandbox::{Sandbox, SandboxError};
use unicode_normalization::UnicodeNormalization;

/// The wall time that the sandbox allows.
const TIME_OUT: Duration = Duration::from_secs(60);
const REFERENCE: &str = ".ref.txt";
const SOCKET: &str = "report";
const STARTS: usize = 20;
const WORST: usize = 5;

static PANICS: AtomicU64 = AtomicU64::new(0);

/// Runs the child. It extracts, then reports its peak memory in KiB, the number of its panics
/// including caught ones, and the microseconds since its start.
pub(crate) fn child_main() -> ExitCode {
    let begun = Instant::now();
    count_panics();
    let code = sandbox::child_main();
    let name = std::env::args_os()
        .next()
        .map(PathBuf::from)
        .unwrap_or_default();
    let micros = begun.elapsed().as_micros();
    let report = format!("{} {} {micros}", memory_kib("VmHWM:"), PANICS.load(SeqCst));
    if let Ok(socket) = UnixDatagram::unbound() {
        // Nothing listens if the executable was started by its own name.
        let _ = socket.send_to(report.as_bytes(), name.with_file_name(SOCKET));
    }

    code
}

fn count_panics() {
    std::panic::set_hook(Box::new(|_| {
        PANICS.fetch_add(1, SeqCst);
    }));
}

/// Reads a line of this process's status; 0 if the system does not provide it.
fn memory_kib(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

/// The measurements of one file.
struct FileMeasurement {
    name: String,
    format: String,
    bytes: usize,
    wall: Duration,
    /// `ok`, or the reason of the failure.
    outcome: String,
    /// The child's report; `None` if the file needed no child or the child was killed.
    peak_kib: Option<u64>,
    inside: Option<Duration>,
    panics: u64,
    /// The number of tokens of the text, of the reference, and of both.
    tokens: Option<(u64, u64, u64)>,
}

impl FileMeasurement {
    fn is_ok(&self) -> bool {
        self.outcome == "ok"
    }

    fn recall(&self) -> Option<f64> {
        self.tokens
            .filter(|_| self.is_ok())
            .map(|(_, reference, both)| both as f64 / reference as f64)
    }

    fn precision(&self) -> Option<f64> {
        self.tokens
            .filter(|_| self.is_ok())
            .map(|(text, _, both)| both as f64 / text.max(1) as f64)
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(folder: &Path, executable: Option<PathBuf>) -> Result<()> {
    let files = find_files(folder)?;
    anyhow::ensure!(
        !files.is_empty(),
        "{} has no files; fixtures.py fetches some",
        folder.display()
    );
    count_panics();
    let place = tempfile::tempdir()?;
    let reports = UnixDatagram::bind(place.path().join(SOCKET))?;
    reports.set_nonblocking(true)?;
    let is_own = executable.is_none();
    let executable = match executable {
        Some(given) => given
            .canonicalize()
            .with_context(|| format!("{} is not there", given.display()))?,
        None => {
            let link = place.path().join("bench");
            std::os::unix::fs::symlink(std::env::current_exe()?, &link)?;
            link
        }
    };

    let sandbox = Sandbox::in_child(executable);
    let start = measure_start_up(&sandbox, &reports).await?;
    let style = ProgressStyle::with_template("  [{bar:30}] {pos}/{len} {msg:.40} {eta}")?;
    let bar = ProgressBar::new(files.len() as u64).with_style(style);
    let mut all = Vec::new();
    for (format, path) in files {
        bar.set_message(
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        );
        all.push(measure_file(&sandbox, &reports, format, &path).await?);
        bar.inc(1);
    }

    bar.finish_and_clear();
    print_table(&all, is_own);
    println!(
        "\nstart of a child with an almost empty page: {:.1} ms",
        start.as_secs_f64() * 1000.0
    );
    print_worst(&all);

    Ok(())
}

/// Returns the files in the folders that are named after formats, without the references.
fn find_files(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?
    {
        let entry = entry?;
        let format = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type()?.is_dir() || format.starts_with('.') {
            continue;
        }
        for file in std::fs::read_dir(entry.path())? {
            let path = file?.path();
            if !path.to_string_lossy().ends_with(REFERENCE) {
                files.push((format.clone(), path));
            }
        }
    }

    files.sort();
    Ok(files)
}

/// Measures the median time of a child that has almost nothing to do.
async fn measure_start_up(sandbox: &Sandbox, reports: &UnixDatagram) -> Result<Duration> {
    let page = b"<!DOCTYPE html><html><body><p>A page.</p></body></html>";
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        sandbox
            .extract_document(page, Some("page.html"), None)
            .await?;
        times.push(begun.elapsed());
        // A full socket would block the next child.
        receive_report(reports);
    }
    times.sort_unstable();
    Ok(times[STARTS / 2])
}

async fn measure_file(
    sandbox: &Sandbox,
    reports: &UnixDatagram,
    format: String,
    path: &Path,
) -> Result<FileMeasurement> {
    let bytes = std::fs::read(path)?;
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    // Discards reports of earlier children that arrived late.
    while receive_report(reports).is_some() {}
    let panics_before = PANICS.load(SeqCst);
    let begun = Instant::now();
    let answer = sandbox.extract_document(&bytes, Some(&name), None).await;
    let wall = begun.elapsed();
    let (outcome, text) = match answer {
        Ok(extracted) => ("ok".to_owned(), extracted.text),
        Err(_) if wall >= TIME_OUT => ("time-out".to_owned(), String::new()),
        Err(SandboxError::Content(failure)) => (failure.code.as_str().to_owned(), String::new()),
        Err(SandboxError::Unavailable(_)) => ("unavailable".to_owned(), String::new()),
    };

    let reported = receive_report(reports);
    let here = PANICS.load(SeqCst) - panics_before;
    let reference = std::fs::read_to_string(format!("{}{REFERENCE}", path.display())).ok();
    let tokens = reference
        .map(|reference| count_common_tokens(&text, &reference))
        .filter(|(_, reference, _)| *reference > 0);

    Ok(FileMeasurement {
        name,
        format,
        bytes: bytes.len(),
        wall,
        outcome,
        peak_kib: reported.map(|[peak, ..]| peak),
        inside: reported.map(|[_, _, micros]| Duration::from_micros(micros)),
        panics: here + reported.map_or(0, |[_, panics, _]| panics),
        tokens,
    })
}

/// Receives a child's report: its peak memory, its panics and its microseconds.
fn receive_report(reports: &UnixDatagram) -> Option<[u64; 3]> {
    let mut buffer = [0; 64];
    let length = reports.recv(&mut buffer).ok()?;
    let mut numbers = std::str::from_utf8(&buffer[..length])
        .ok()?
        .split(' ')
        .map_while(|part| part.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

/// Counts the tokens of a text, of its reference, and of both, as multisets.
fn count_common_tokens(text: &str, reference: &str) -> (u64, u64, u64) {
    let (ours, theirs) = (count_tokens(text), count_tokens(reference));
    let both = theirs
        .iter()
        .map(|(token, count)| ours.get(token).map_or(0, |have| *have.min(count)))
        .sum();
    (ours.values().sum(), theirs.values().sum(), both)
}

/// Counts words in lower case and compatibility form. In scripts without spaces, counts characters.
fn count_tokens(text: &str) -> HashMap<String, u64> {
    let mut counts = HashMap::new();
    let text: String = text.nfkc().flat_map(char::to_lowercase).collect();
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let mut rest = word;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| has_no_spaces(*c)) {
            if at > 0 {
                *counts.entry(rest[..at].to_owned()).or_default() += 1;
            }
            *counts.entry(c.to_string()).or_default() += 1;
            rest = &rest[at + c.len_utf8()..];
        }
        if !rest.is_empty() {
            *counts.entry(rest.to_owned()).or_default() += 1;
        }
    }

    counts
}

/// Checks whether a character is a Han character, kana or Thai.
fn has_no_spaces(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}')
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_table(all: &[FileMeasurement], is_own: bool) {
    println!(
        "format  files   ok panics    MB/s  inside    p50 ms   max ms    MiB recall median  prec. refs missed  failures"
    );
    let mut formats: Vec<&str> = all.iter().map(|one| one.format.as_str()).collect();
    formats.dedup();
    for format in formats {
        let of_format: Vec<&FileMeasurement> =
            all.iter().filter(|one| one.format == format).collect();
        format_row(format, &of_format, is_own);
    }

    format_row("all", &all.iter().collect::<Vec<_>>(), is_own);
    println!(
        "\nMB/s: input over wall time; inside: over the time within the child, without its start. MiB: the worst child. recall, prec.: the\n\
         mean over files that were read and have a reference (refs); missed: the reference reads them, we do not."
    );
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn format_row(name: &str, files: &[&FileMeasurement], is_own: bool) {
    let (ok, failed): (Vec<&FileMeasurement>, Vec<&FileMeasurement>) =
        files.iter().partition(|one| one.is_ok());
    let megabytes = files.iter().map(|one| one.bytes).sum::<usize>() as f64 / 1e6;
    let seconds: f64 = files.iter().map(|one| one.wall.as_secs_f64()).sum();
    let inside: f64 = files
        .iter()
        .map(|one| one.inside.unwrap_or(one.wall).as_secs_f64())
        .sum();
    let inside = if is_own {
        format!("{:.2}", megabytes / inside)
    } else {
        "-".to_owned()
    };

    let mut walls: Vec<f64> = files
        .iter()
        .map(|one| one.wall.as_secs_f64() * 1000.0)
        .collect();
    walls.sort_by(f64::total_cmp);
    let peak = files
        .iter()
        .filter_map(|one| one.peak_kib)
        .max()
        .map_or("-".into(), |kib| (kib / 1024).to_string());
    let mut recalls: Vec<f64> = ok.iter().filter_map(|one| one.recall()).collect();
    recalls.sort_by(f64::total_cmp);
    let precisions: Vec<f64> = ok.iter().filter_map(|one| one.precision()).collect();
    println!(
        "{name:<7} {:>5} {:>4} {:>6} {:>7.2} {inside:>8} {:>8.1} {:>8.0} {peak:>6} {:>6} {:>6} {:>6} {:>4} {:>6}  {}",
        files.len(),
        ok.len(),
        files.iter().map(|one| one.panics).sum::<u64>(),
        megabytes / seconds,
        walls.get(walls.len() / 2).unwrap_or(&0.0),
        walls.last().unwrap_or(&0.0),
        share(mean(&recalls)),
        share(recalls.get(recalls.len() / 2).copied()),
        share(mean(&precisions)),
        recalls.len(),
        failed.iter().filter(|one| one.tokens.is_some()).count(),
        print_failures(&failed)
    );
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn share(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.3}"))
}

fn print_failures(failed: &[&FileMeasurement]) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for one in failed {
        *counts.entry(one.outcome.as_str()).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable();
    counts
        .iter()
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Prints the files of each format with the lowest recall, and those that only the reference
/// extractor can read.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_worst(all: &[FileMeasurement]) {
    println!("\nleast recall of each format (ours / reference / both, in tokens), below .95");
    for of_format in all.chunk_by(|a, b| a.format == b.format) {
        let mut scored: Vec<(f64, &FileMeasurement)> = of_format
            .iter()
            .filter_map(|one| one.recall().map(|recall| (recall, one)))
            .collect();
        scored.retain(|(recall, _)| *recall < 0.95);
        scored.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        for (recall, one) in scored.iter().take(WORST) {
            let (ours, reference, both) = one.tokens.unwrap_or_default();
            println!(
                "  {recall:.3} {}/{} ({ours} / {reference} / {both})",
                one.format, one.name
            );
        }
    }

    println!("\nnot read, with tokens of the reference if there is one");
    for one in all.iter().filter(|one| !one.is_ok()) {
        let reference = one
            .tokens
            .map_or("-".to_owned(), |(_, reference, _)| reference.to_string());
        let seconds = one.wall.as_secs_f64();
        println!(
            "  {} {}/{} ({reference}; {seconds:.1} s)",
            one.outcome, one.format, one.name
        );
    }
}
