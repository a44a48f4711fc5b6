//! Conformance tests of [`domain::ports::SyncStore`]: nodes, and the lookup of nodes by folder and
//! by target.

use domain::ports::SyncWrite;

use crate::promises;
use crate::setting::PortFixture;
use crate::sync::{ConnectionStore, add_node_write, change_node_write, hard_ids, new_node};

promises!(
    nodes_are_read_by_id_and_in_pages,
    whatever_ids_are_made_of_they_stay_apart,
    a_folder_finds_what_lies_in_it_after_moves,
    an_item_finds_the_shortcuts_that_lead_to_it,
    of_several_writes_about_a_node_the_last_one_counts,
    a_hint_that_is_no_longer_true_is_not_followed,
);

async fn nodes_are_read_by_id_and_in_pages(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    assert!(known.read_all_nodes(10).await.is_empty());
    let all: Vec<_> = hard_ids()
        .iter()
        .map(|id| new_node(id, Some("top")))
        .collect();
    known
        .commit_next_step(&all.iter().map(add_node_write).collect::<Vec<_>>())
        .await;
    for limit in [1, 3, all.len(), 1000] {
        let mut found = known.read_all_nodes(limit).await;
        let ids: Vec<_> = found.iter().map(|node| node.id.clone()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b || a.len() > 400), "{ids:?}");
        found.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(found, all, "in pages of {limit}");
    }

    let asked: Vec<String> = [
        "nobody".into(),
        all[3].id.clone(),
        all[0].id.clone(),
        all[3].id.clone(),
    ]
    .into();
    let wanted = [
        None,
        Some(all[3].clone()),
        Some(all[0].clone()),
        Some(all[3].clone()),
    ];
    assert_eq!(known.read_nodes(&asked).await, wanted);

    for other in known.neighbouring_stores() {
        assert!(other.read_all_nodes(10).await.is_empty());
        assert_eq!(other.read_nodes(&asked[1..2]).await, [None]);
        assert!(other.read_children("top", 10).await.is_empty());
    }
}

async fn whatever_ids_are_made_of_they_stay_apart(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    let ids = hard_ids();
    // Each node is a folder with one child, and a shortcut to the next one.
    let next = |i: usize| ids[(i + 1) % ids.len()].clone();
    let make = |(i, id): (usize, &String)| {
        let mut made = new_node(id, Some(&next(i)));
        made.target = Some(next(i));
        add_node_write(&made)
    };

    known
        .commit_next_step(&ids.iter().enumerate().map(make).collect::<Vec<_>>())
        .await;
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(
            known.read_children(&next(i), 10).await,
            std::slice::from_ref(id)
        );
        assert_eq!(
            known.read_shortcuts(&next(i), 10).await,
            std::slice::from_ref(id)
        );
    }

    for of in ["", "a#b#", "2#a#", "x"] {
        assert!(known.read_children(of, 10).await.is_empty(), "{of}");
        assert!(known.read_shortcuts(of, 10).await.is_empty(), "{of}");
    }
}

async fn a_folder_finds_what_lies_in_it_after_moves(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    let all: Vec<_> = (0..25)
        .map(|i| new_node(&format!("f{i:02}"), Some("a")))
        .collect();
    known
        .commit_next_step(&all.iter().map(add_node_write).collect::<Vec<_>>())
        .await;
    let ids = |nodes: &[domain::connection::ItemRecord]| -> Vec<String> {
        nodes.iter().map(|node| node.id.clone()).collect()
    };

    for limit in [1, 7, 25, 100] {
        assert_eq!(
            known.read_children("a", limit).await,
            ids(&all),
            "in pages of {limit}"
        );
    }

    let moved = |node: &domain::connection::ItemRecord, parent: Option<&str>| {
        let mut moved = node.clone();
        moved.parent = parent.map(str::to_owned);
        moved
    };

    let mut writes: Vec<_> = all[..10]
        .iter()
        .map(|node| change_node_write(node, &moved(node, Some("b"))))
        .collect();
    writes.extend(
        all[10..15]
            .iter()
            .map(|node| change_node_write(node, &moved(node, None))),
    );
    writes.extend(
        all[15..20]
            .iter()
            .map(|node| SyncWrite::DeleteItem(Box::new(node.clone()))),
    );
    // These keep their place and change in another field.
    let renamed: Vec<_> = all[20..]
        .iter()
        .map(|node| domain::connection::ItemRecord {
            seen: 9,
            ..node.clone()
        })
        .collect();
    writes.extend(
        all[20..]
            .iter()
            .zip(&renamed)
            .map(|(old, new)| change_node_write(old, new)),
    );
    known.commit_next_step(&writes).await;
    assert_eq!(known.read_children("b", 4).await, ids(&all[..10]));
    assert_eq!(known.read_children("a", 4).await, ids(&all[20..]));
    assert_eq!(
        known.read_nodes(&ids(&all[20..])).await,
        renamed.into_iter().map(Some).collect::<Vec<_>>()
    );
    assert_eq!(known.read_all_nodes(100).await.len(), 20);
    assert_eq!(known.read_nodes(&ids(&all[15..16])).await, [None]);
    // These go back to their first place.
    let back: Vec<_> = all[..10]
        .iter()
        .map(|node| change_node_write(&moved(node, Some("b")), node))
        .collect();
    known.commit_next_step(&back).await;
    assert!(known.read_children("b", 4).await.is_empty());
    assert_eq!(known.read_children("a", 4).await.len(), 15);
}

async fn an_item_finds_the_shortcuts_that_lead_to_it(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    let shortcut = |id: &str, target: Option<&str>| {
        let mut made = new_node(id, Some("a"));
        made.target = target.map(str::to_owned);
        made
    };
    let all: Vec<_> = (0..9)
        .map(|i| shortcut(&format!("s{i}"), Some("one")))
        .collect();
    known
        .commit_next_step(&all.iter().map(add_node_write).collect::<Vec<_>>())
        .await;
    assert_eq!(known.read_shortcuts("one", 100).await.len(), 9);
    assert_eq!(
        known.read_shortcuts("one", 4).await,
        ["s0", "s1", "s2", "s3"]
    );

    let writes = [
        change_node_write(&all[0], &shortcut("s0", Some("two"))),
        change_node_write(&all[1], &shortcut("s1", None)),
        SyncWrite::DeleteItem(Box::new(all[2].clone())),
    ];
    known.commit_next_step(&writes).await;
    assert_eq!(known.read_shortcuts("one", 3).await, ["s3", "s4", "s5"]);
    assert_eq!(known.read_shortcuts("two", 3).await, ["s0"]);
    assert_eq!(
        known.read_children("a", 100).await.len(),
        8,
        "where they lie is another matter"
    );
}

async fn of_several_writes_about_a_node_the_last_one_counts(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    let (at_a, at_b) = (new_node("f", Some("a")), new_node("f", Some("b")));
    let forget = |node| SyncWrite::DeleteItem(Box::new(node));
    // Each row has the stored node, the writes, and the resulting location. All writes state the
    // node that was stored before the step.
    let table = [
        (
            None,
            vec![add_node_write(&at_a), add_node_write(&at_b)],
            Some("b"),
        ),
        (
            None,
            vec![add_node_write(&at_a), forget(at_a.clone())],
            None,
        ),
        (
            None,
            vec![
                add_node_write(&at_a),
                add_node_write(&at_b),
                add_node_write(&at_a),
            ],
            Some("a"),
        ),
        (
            Some(&at_a),
            vec![
                change_node_write(&at_a, &at_b),
                change_node_write(&at_a, &at_a),
            ],
            Some("a"),
        ),
        (
            Some(&at_a),
            vec![
                change_node_write(&at_a, &at_a),
                change_node_write(&at_a, &at_b),
            ],
            Some("b"),
        ),
        (
            Some(&at_a),
            vec![forget(at_a.clone()), add_node_write(&at_a)],
            Some("a"),
        ),
        (
            Some(&at_a),
            vec![forget(at_a.clone()), add_node_write(&at_b)],
            Some("b"),
        ),
        (
            Some(&at_a),
            vec![change_node_write(&at_a, &at_b), forget(at_a.clone())],
            None,
        ),
        (
            Some(&at_a),
            vec![
                change_node_write(&at_a, &at_b),
                change_node_write(&at_b, &at_a),
                change_node_write(&at_a, &at_b),
            ],
            Some("b"),
        ),
    ];

    for (i, (before, writes, wanted)) in table.into_iter().enumerate() {
        if let Some(before) = before {
            known.commit_next_step(&[add_node_write(before)]).await;
        }
        known.commit_next_step(&writes).await;
        let stored = known.read_nodes(&["f".into()]).await.remove(0);
        assert_eq!(
            stored.as_ref().and_then(|node| node.parent.as_deref()),
            wanted,
            "row {i}"
        );
        for folder in ["a", "b"] {
            let found = known.read_children(folder, 10).await;
            assert_eq!(
                !found.is_empty(),
                wanted == Some(folder),
                "row {i}, folder {folder}"
            );
        }
        known
            .commit_next_step(&stored.map(forget).into_iter().collect::<Vec<_>>())
            .await;
    }
}

async fn a_hint_that_is_no_longer_true_is_not_followed(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    let shortcut = |target: &str, parent: &str| {
        let mut made = new_node("f", Some(parent));
        made.target = Some(target.into());
        made
    };

    known
        .commit_next_step(&[
            add_node_write(&shortcut("one", "a")),
            add_node_write(&new_node("g", Some("a"))),
        ])
        .await;
    // A write that does not state the known node leaves stale lookup entries behind.
    known
        .commit_next_step(&[add_node_write(&shortcut("two", "b"))])
        .await;
    assert_eq!(known.read_children("a", 1).await, ["g"]);
    assert!(known.read_shortcuts("one", 1).await.is_empty());
    assert_eq!(known.read_children("b", 1).await, ["f"]);
    assert_eq!(known.read_shortcuts("two", 1).await, ["f"]);
}
