//! A deployment on AWS as a stack of CloudFormation: deploys a template that `sam build` has built,
//! goes back to an earlier deployment or to the data of an earlier time, and tells how a stack is
//! doing.
//!
//! ```text
//! built folder -> artifacts (functions, template) in S3 -> change set -> stack -> outputs
//! ```

mod account;
mod artifacts;
mod change_set;
mod deployed;
mod history;
mod inspection;
mod recovery;
mod stores;
mod template;

pub use account::Account;
pub use change_set::{ChangeSet, ChangeSetRequest, ResourceChange, StackProgress};
pub use deployed::DeployedStack;
pub use history::Deployment;
pub use inspection::{Finding, Severity};
pub use recovery::Recovery;
pub use stores::{RECORDS_PARAMETER, SECRETS_PARAMETER, check_stores, connect_bucket};
pub use template::BuiltTemplate;
