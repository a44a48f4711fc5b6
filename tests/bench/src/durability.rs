//! The cost of surviving a power cut. The temporary folder (`TMPDIR`) must be on the disk to be
//! measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use embedded::Durability;
use futures::future::try_join_all;

use crate::rig::{BenchSystem, percentiles};
use crate::text::TextGenerator;

/// The numbers of concurrent clients.
const CLIENTS: [usize; 2] = [1, 16];

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(documents: usize) -> Result<()> {
    println!("{documents} documents of 2 KB in one container; accept is the time to the answer");
    println!("durability  clients  accepted/s  done/s  accept p50 ms  p99 ms");
    for clients in CLIENTS {
        for durability in [Durability::Full, Durability::Relaxed] {
            measure_durability(durability, clients, documents).await?;
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_durability(
    durability: Durability,
    clients: usize,
    documents: usize,
) -> Result<()> {
    let mut rig = BenchSystem::with_durability(durability).await?;
    rig.start_workers().await?;
    rig.add_text("warm", "warm up").await?;
    rig.wait_until_idle().await?;
    let mut writer = TextGenerator::new(6);
    let texts: Vec<String> = (0..documents).map(|_| writer.generate_text(2048)).collect();
    let begun = Instant::now();
    let rig = Arc::new(rig);
    // Each client needs its own task: a call to services in the same process may never wait, so
    // that within one task no other client would begin.
    let shares = texts.chunks(documents.div_ceil(clients));
    let sending: Vec<_> = shares
        .map(|share| tokio::spawn(send(Arc::clone(&rig), share.to_vec())))
        .collect();
    let times = try_join_all(sending)
        .await?
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let accepted = begun.elapsed();
    rig.wait_until_idle().await?;
    let done = begun.elapsed();
    let mut times: Vec<Duration> = times.into_iter().flatten().collect();
    let (p50, p99, _) = percentiles(&mut times);
    let rate = |time: Duration| documents as f64 / time.as_secs_f64();
    let name = format!("{durability:?}").to_lowercase();
    println!(
        "{name:<10} {clients:>8} {:>11.0} {:>7.0} {p50:>14.2} {p99:>7.2}",
        rate(accepted),
        rate(done)
    );
    if let Some(mut rig) = Arc::into_inner(rig) {
        rig.stop_workers().await;
    }

    Ok(())
}

/// Sends one text after another, as one client, and returns the latencies.
async fn send(rig: Arc<BenchSystem>, texts: Vec<String>) -> Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(texts.len());
    for text in texts {
        let begun = Instant::now();
        rig.add_text("rate", &text).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}
