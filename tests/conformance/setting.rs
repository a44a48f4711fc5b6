//! The setting of a conformance test: the ports of a new world, and records to test them with.

use std::collections::BTreeMap;

use bytes::Bytes;
use domain::document::{BodyForm, Extracted};
use domain::ports::{Claim, Committed, PortResult};
use domain::{
    Body, Change, ContainerId, ContainerTag, Ctx, Document, DocumentId, DocumentType, Dreaming,
    IndexHead, Metadata, OrgId, PortError, Revision, Status, TaskType, Tenant, Timestamp,
};
use testkit::{Rates, TestApp};

/// The number of fault histories under which each guarantee is tested.
pub(crate) const SEEDS: u64 = 3;

/// A world with two organizations.
pub(crate) struct Setting {
    pub(crate) app: TestApp,
    pub(crate) alpha: Tenant,
    pub(crate) beta: Tenant,
    calm: bool,
}

impl Setting {
    /// Creates a setting without faults.
    pub(crate) async fn plain() -> Self {
        let tenant = |org| Tenant::of_operator(OrgId::parse(org).expect("an organization"));
        Self {
            app: TestApp::new().await,
            alpha: tenant("alpha"),
            beta: tenant("beta"),
            calm: true,
        }
    }

    /// Creates a setting in which every kind of fault happens occasionally.
    pub(crate) async fn rough(seed: u64) -> Self {
        let world = testkit::World::new().expect("a folder");
        let app = TestApp::start(&world, seed).await.expect("an app");
        app.faults.set_rates(Rates::ROUGH);
        Self {
            app,
            calm: false,
            ..Self::plain().await
        }
    }

    /// Returns a setting over the same services, with the two organizations swapped and without
    /// faults.
    pub(crate) async fn turned(&self) -> Self {
        let app = TestApp::start(&self.app.world, 0).await.expect("an app");
        Self {
            app,
            alpha: self.beta.clone(),
            beta: self.alpha.clone(),
            calm: true,
        }
    }

    /// Stops all faults from now on.
    pub(crate) fn calm(&self) {
        self.app.faults.set_rates(Rates::default());
    }

    /// Checks whether this setting was created without faults.
    pub(crate) fn is_calm(&self) -> bool {
        self.calm
    }

    pub(crate) fn ctx(&self) -> &Ctx {
        &self.app.system.ctx
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.ctx().clock.now()
    }

    /// Stores a queued document of a container with this text.
    pub(crate) async fn accepted(&self, container: &ContainerId, text: &str) -> Document {
        let document = self.composed(container, text).await;
        self.accept(&document, None).await.expect("a new record");
        document
    }

    /// Stores the bytes of a queued document of a container, but not its record.
    pub(crate) async fn composed(&self, container: &ContainerId, text: &str) -> Document {
        let (id, revision, now) = (DocumentId::random(), Revision::random(), self.now());
        let path = format!("{container}/{id}/{revision}/body");
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let blob = again(async || {
            self.ctx()
                .blobs
                .put(&self.alpha, &path, bytes.clone())
                .await
        })
        .await
        .expect("a blob");

        Document {
            id,
            container: container.clone(),
            tag: ContainerTag::default_tag(),
            custom_id: None,
            revision,
            revision_number: 1,
            status: Status::Queued,
            failure: None,
            attempts: 0,
            lease_until: Timestamp::from_millis(0),
            body: Body {
                blob,
                form: BodyForm::Text,
                hash: "00".into(),
                size: text.len() as u64,
                awaited_until: None,
                sent_at: None,
            },
            extracted: None,
            indexed: None,
            kind: DocumentType::Text,
            title: None,
            properties: BTreeMap::new(),
            url: None,
            metadata: Metadata::default(),
            filepath: None,
            edits: 0,
            filter_by_metadata: None,
            task_type: TaskType::Memory,
            dreaming: Dreaming::Dynamic,
            document_date: None,
            provenance: None,
            origin: None,
            superseded_by: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Stores a record.
    pub(crate) async fn accept(
        &self,
        document: &Document,
        expected: Option<&Revision>,
    ) -> PortResult<()> {
        again(async || {
            self.ctx()
                .documents
                .accept(&self.alpha, document, expected, &[])
                .await
        })
        .await
    }

    /// Returns the stored record.
    pub(crate) async fn record(&self, id: &DocumentId) -> Option<Document> {
        let found = again(async || {
            self.ctx()
                .documents
                .get(&self.alpha, std::slice::from_ref(id))
                .await
        })
        .await;
        found.expect("records").pop().flatten()
    }

    /// Takes a lease of 90 seconds.
    pub(crate) async fn claim(&self, document: &Document) -> Claim {
        let now = self.now();
        let (id, revision) = (&document.id, &document.revision);
        let claim = async || {
            self.ctx()
                .documents
                .claim(&self.alpha, id, revision, now, now.plus_seconds(90))
                .await
        };
        again(claim).await.expect("a claim")
    }

    /// Stores a document that waits for its commit.
    pub(crate) async fn extracted(&self, container: &ContainerId, text: &str) -> Document {
        let document = self
            .extracted_from(&self.accepted(container, text).await)
            .await;
        let now = self.now();
        let recorded = again(async || {
            self.ctx()
                .documents
                .record_extracted(&self.alpha, &document, now)
                .await
        })
        .await;
        assert!(recorded.expect("a record"), "nobody else changes it");

        self.record(&document.id).await.expect("the record")
    }

    /// Returns the document with a stored pack, as a worker has it before it records the pack.
    pub(crate) async fn extracted_from(&self, document: &Document) -> Document {
        let (path, bytes) = (document.pack_path(), Bytes::from_static(b"a pack"));
        let pack = again(async || {
            self.ctx()
                .blobs
                .put(&self.alpha, &path, bytes.clone())
                .await
        })
        .await
        .expect("a blob");
        let extracted = Extracted {
            revision: document.revision.clone(),
            pack,
            chunks: 1,
            learned: None,
            authorship: None,
        };

        Document {
            extracted: Some(extracted),
            ..document.clone()
        }
    }

    /// Commits despite faults. A commit without an answer either happened or did not.
    pub(crate) async fn commit(
        &self,
        container: &ContainerId,
        expected: u64,
        changes: &[Change],
    ) -> Committed {
        loop {
            let head = IndexHead {
                seq: expected,
                ..self.head(container).await
            };
            match self
                .ctx()
                .index
                .commit(&self.alpha, container, &head, changes, self.now())
                .await
            {
                Ok(committed) => return committed,
                Err(PortError::Unavailable(_)) if self.head(container).await.seq > expected => {
                    // No other commits happen in these tests, so this one did.
                    return Committed::Done(Vec::new());
                }
                Err(PortError::Unavailable(_)) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// Returns the index's head.
    pub(crate) async fn head(&self, container: &ContainerId) -> IndexHead {
        again(async || self.ctx().index.head(&self.alpha, container).await)
            .await
            .expect("a head")
    }

    /// Creates a document that search serves.
    pub(crate) async fn served(&self, container: &ContainerId, text: &str) -> Document {
        let document = self.extracted(container, text).await;
        let seq = self.head(container).await.seq;
        self.commit(
            container,
            seq,
            &[Change::Publish(Box::new(document.clone()))],
        )
        .await;
        self.record(&document.id).await.expect("the record")
    }
}

/// Repeats a call until it is answered. Callers of a port may do so when it is unavailable.
pub(crate) async fn again<T>(mut call: impl AsyncFnMut() -> PortResult<T>) -> PortResult<T> {
    /// More calls than any seed here fails in a row.
    const CALLS: usize = 50;
    for _ in 1..CALLS {
        match call().await {
            Err(PortError::Unavailable(_)) => {}
            answer => return answer,
        }
    }
    call().await
}
