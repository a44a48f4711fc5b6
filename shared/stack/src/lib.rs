//! A deployment on AWS as a stack of CloudFormation: deploys a template that `sam build` has built,
//! goes back to an earlier deployment, and tells how a stack is doing.
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
mod template;

pub use account::Account;
pub use change_set::{ChangeSet, ChangeSetRequest, ResourceChange, StackProgress};
pub use deployed::DeployedStack;
pub use history::Deployment;
pub use inspection::{Finding, Severity};
pub use template::BuiltTemplate;
