//! The domain of Recollect: its types, rules, errors and ports, independent of storage and
//! transport.
//!
//! Types enforce their own rules: an invalid container tag cannot exist. Ports state the guarantees
//! that storage must give. This crate does no I/O, reads no clock and depends on no framework.

pub mod activity;
pub mod blob;
pub mod connection;
pub mod container;
pub mod conversation;
pub mod document;
pub mod error;
pub mod filter;
pub mod ids;
pub mod job;
pub mod key;
pub mod memory;
pub mod metadata;
pub mod pack;
pub mod patch;
pub mod ports;
pub mod provenance;
pub mod rate;
pub mod settings;
pub mod tag;
pub mod task;
pub mod tenant;
pub mod time;
pub mod transcript;
pub mod vault;

pub use blob::BlobRef;
pub use connection::Connection;
pub use container::{
    Container, ContainerChange, ContainerOwner, DocumentChange, IndexHead, IndexedDocument,
    LogRecord, MemoryIndexRef, MergeRole, SegmentRef, SharedContainer,
};
pub use document::{
    BodyForm, Document, DocumentBody, DocumentStatus, DocumentType, Dreaming, FailureCode,
    ProcessingFailure, TaskType,
};
pub use error::{Error, PortError, RequestIssue, Result};
pub use filter::{Filter, whole_float};
pub use ids::{
    AnswerId, ConnectionId, ContainerId, CustomId, DocumentId, GrantId, ID_FIRST_CHARACTERS, KeyId,
    MemoryId, OrgId, Revision, TaskId, TopicId,
};
pub use job::{DeliveryOutcome, Job, JobMessage, QueueDelivery, QueueWorker};
pub use memory::{
    EventPeriod, MemoryEdit, MemoryKind, Retraction, RetractionEffect, Statement, StatementSet,
    Topic, Trust,
};
pub use metadata::Metadata;
pub use pack::{Pack, PackedChunk};
pub use patch::Patch;
pub use provenance::{Attribution, Authorship, Provenance, SourceMedium};
pub use rate::{RateLimit, RateWindow};
pub use settings::{ProfileBucket, Settings};
pub use tag::ContainerTag;
pub use task::{Task, TaskState, TaskWork};
pub use tenant::{AuthenticatedKey, Tenant};
pub use time::Timestamp;
pub use vault::Secret;
