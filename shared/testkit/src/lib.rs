//! Shared support for tests: the whole app in one process over the embedded services, a clock that
//! tests advance, and a transport that throttles, loses answers, repeats deliveries and crashes on
//! request.

mod app;
mod clock;
mod damage;
mod drive;
mod faults;
mod internet;
mod log;
mod openapi;
mod sleep;

pub use app::{Answer, PUBLIC_URL, TestApp, World, multipart};
pub use clock::TestClock;
pub use damage::{Harm, files};
pub use drive::{Browser, DRIVE_ACCOUNT, JSON, Shown};
pub use faults::{Faults, Rates};
pub use internet::Internet;
pub use log::Log;
pub use openapi::is_for_browsers;
