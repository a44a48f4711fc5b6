//! Shared support for tests: the whole app in one process over the embedded services, a clock that
//! tests advance, and a transport that throttles, loses answers, repeats deliveries and crashes on
//! request.

mod app;
mod clock;
mod damage;
mod drive;
mod faults;
mod internet;
mod lambda;
mod log;
mod openapi;
mod rights;
mod sleep;
pub mod template;

pub use app::{
    AS_LARGE_CONTAINERS, BY_PAGES, PUBLIC_URL, TestAnswer, TestApp, TestEnvironment, multipart_form,
};
pub use clock::TestClock;
pub use damage::{DamageKind, list_files};
pub use drive::{Browser, BrowserPage, DRIVE_ACCOUNT, JSON};
pub use faults::{FaultRates, FaultyTransport};
pub use internet::TestInternet;
pub use log::LogCapture;
pub use openapi::is_undescribed;
