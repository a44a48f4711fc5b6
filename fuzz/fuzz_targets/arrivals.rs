//! Notifications of S3 about new objects.

#![no_main]

use domain::OrgId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|message: &str| {
    let arrivals = fuzz::app::with_app(|app, _| app.system.ctx.blobs.parse_arrivals(message));
    for arrival in arrivals.unwrap_or_default() {
        assert!(OrgId::parse(arrival.org.as_str()).is_ok(), "{arrival:?}");
        assert!(!arrival.path.is_empty(), "{arrival:?}");
    }
});
