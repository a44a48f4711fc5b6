//! Made-up credentials in the formats of well-known services. None of them was ever valid.

/// Returns a random-looking text of `len` characters, the same on every call.
pub(crate) fn random(alphabet: &str, len: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x2545_F491_4F6C_DD1D_u64 ^ (len as u64);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        letters[(state >> 33) as usize % letters.len()]
    };
    (0..len).map(|_| next()).collect()
}

/// Letters and digits.
pub(crate) const MIXED: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Returns texts that contain credentials, each with the part that must not remain.
pub(crate) fn credentials() -> Vec<(String, String)> {
    let mixed = |len| random(MIXED, len);
    let (hex, upper) = (|len| random(HEX, len), |len| random(UPPER, len));
    let sample = |prefix: &str, rest: String| (format!("{prefix}{rest}"), rest);
    let mut samples: Vec<(String, String)> = [
        ("rk_4fGh8sK2_", 40),
        ("sm_org_", 32),
        ("sk-", 48),
        ("sk-proj-", 40),
        ("sk-ant-api03-", 60),
        ("sk_live_", 24),
        ("rk_live_", 24),
        ("pk_test_", 24),
        ("whsec_", 32),
        ("ghp_", 36),
        ("gho_", 36),
        ("ghs_", 36),
        ("github_pat_11AAAA_", 50),
        ("glpat-", 20),
        ("glsa_", 32),
        ("xoxb-1234-", 24),
        ("xapp-1-", 30),
        ("xai-", 40),
        ("AIza", 35),
        ("ya29.", 60),
        ("GOCSPX-", 28),
        ("SG.", 66),
        ("npm_", 36),
        ("pypi-", 60),
        ("hf_", 34),
        ("gsk_", 40),
        ("nvapi-", 40),
        ("dckr_pat_", 27),
        ("lin_api_", 40),
        ("ntn_", 40),
        ("figd_", 40),
        ("ATATT3xFf", 60),
        ("hvs.", 24),
        ("tskey-auth-", 24),
    ]
    .into_iter()
    .map(|(prefix, len)| sample(prefix, mixed(len)))
    .collect();
    samples.extend([
        sample("AKIA", upper(16)),
        sample("ASIA", upper(16)),
        sample("dop_v1_", hex(64)),
        sample("shpat_", hex(32)),
        sample("key-", hex(32)),
        sample("dapi", hex(32)),
        sample("AGE-SECRET-KEY-1", upper(58)),
        // Recognized without a prefix, by their randomness.
        sample("", hex(32)),
        sample("", hex(64)),
        sample("", mixed(40)),
        sample("", mixed(86)),
        // Recognized by the words before them.
        sample("Authorization: Bearer ", mixed(24)),
        sample("authorization: Basic ", "dXNlcjpwYXNz".to_owned()),
        sample("Bearer ", mixed(18)),
        sample("password=", "hunter2".to_owned()),
        sample("password: ", "hunter2".to_owned()),
        sample(
            "{\"client_secret\": \"",
            "plain-words\"}".replace("\"}", ""),
        ),
        sample("AWS_SECRET_ACCESS_KEY=", "wJalr/K7/bPx".to_owned()),
        sample("export API_KEY=", "abcdef".to_owned()),
        sample(
            "https://example.com/callback?access_token=",
            "short1".to_owned(),
        ),
        sample("https://example.com/file?sig=", "c2lnbmF0dXJl".to_owned()),
        sample("postgres://app:", "tr0ub4dor@db.example/main".to_owned()),
        sample(
            "DefaultEndpointsProtocol=https;AccountKey=",
            "Zm9vYmFy".to_owned(),
        ),
        sample("123456789:AA", mixed(33)),
        sample("MTA", format!("{}.{}.{}", mixed(21), "Gxyz12", mixed(27))),
        sample(
            "eyJ",
            format!("{}.eyJ{}.{}", mixed(17), mixed(40), mixed(43)),
        ),
        sample(&pem("PRIVATE"), "MIIEvq plain".to_owned()),
        sample(&pem("OPENSSH PRIVATE"), "b3BlbnNz".to_owned()),
    ]);

    samples
}

/// Returns the first line of a private key.
fn pem(kind: &str) -> String {
    format!("-----BEGIN {kind} KEY-----\n")
}
