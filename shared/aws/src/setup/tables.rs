//! Creates missing tables, and adds missing indexes and times to live to tables of an earlier
//! version.

use std::collections::BTreeSet;
use std::iter::zip;

use anyhow::{Context, Result};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndex,
    GlobalSecondaryIndexUpdate, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType, TimeToLiveSpecification, TimeToLiveStatus,
};

use crate::layout::{IndexLayout, IndexProjection, TABLES, TableLayout};
use crate::names::ResourceNames;
use crate::records::{KeyAttributes, KeyRecord};

/// Brings the tables to the layout. A table that gets an index or a time to live keeps its items.
pub(super) async fn create_missing_tables(client: &Client, names: &ResourceNames) -> Result<()> {
    let existing = client
        .list_tables()
        .send()
        .await
        .context("list the tables")?;
    let table_names = [&names.records, &names.secrets, &names.activity];
    for (layout, name) in zip(&TABLES, table_names) {
        if existing.table_names().contains(name) {
            add_indexes(client, layout, name).await
        } else {
            create_table(client, layout, name).await
        }
        .with_context(|| format!("create the table {name}"))?;
        enable_ttl(client, layout, name)
            .await
            .with_context(|| format!("let items of {name} expire"))?;
    }

    Ok(())
}

fn string_attribute(name: &str) -> Result<AttributeDefinition> {
    let definition = AttributeDefinition::builder()
        .attribute_name(name)
        .attribute_type(ScalarAttributeType::S);
    Ok(definition.build()?)
}

fn key_schema(hash: &str, range: &str) -> Result<Vec<KeySchemaElement>> {
    let element = |name: &str, kind| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
    };
    Ok(vec![
        element(hash, KeyType::Hash)?,
        element(range, KeyType::Range)?,
    ])
}

fn global_index(layout: &IndexLayout) -> Result<GlobalSecondaryIndex> {
    let index = GlobalSecondaryIndex::builder().index_name(layout.name);
    let index = index.set_key_schema(Some(key_schema(layout.partition_key, layout.sort_key)?));
    Ok(index.projection(projection(layout.projection)).build()?)
}

fn projection(projection: IndexProjection) -> Projection {
    let builder = Projection::builder();
    match projection {
        IndexProjection::All => builder.projection_type(ProjectionType::All),
        IndexProjection::KeysOnly => builder.projection_type(ProjectionType::KeysOnly),
        IndexProjection::Include(attributes) => {
            let attributes = attributes.iter().map(|name| (*name).to_owned()).collect();
            builder
                .projection_type(ProjectionType::Include)
                .set_non_key_attributes(Some(attributes))
        }
    }
    .build()
}

async fn create_table(client: &Client, layout: &TableLayout, name: &str) -> Result<()> {
    let KeyAttributes { partition, sort } = KeyRecord::ATTRIBUTES;
    // Indexes may share an attribute, which is defined once.
    let mut key_names = BTreeSet::from([partition, sort]);
    let mut request = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest);
    for index in layout.indexes {
        key_names.extend([index.partition_key, index.sort_key]);
        request = request.global_secondary_indexes(global_index(index)?);
    }

    let attributes: Result<Vec<_>> = key_names.into_iter().map(string_attribute).collect();
    let attributes = attributes?;
    let request = request
        .set_key_schema(Some(key_schema(partition, sort)?))
        .set_attribute_definitions(Some(attributes));
    request.send().await?;

    Ok(())
}

async fn add_indexes(client: &Client, layout: &TableLayout, name: &str) -> Result<()> {
    let table = client.describe_table().table_name(name).send().await?.table;
    let table = table.context("a table without a description")?;
    for index_layout in layout.indexes {
        if table
            .global_secondary_indexes()
            .iter()
            .any(|index| index.index_name() == Some(index_layout.name))
        {
            continue;
        }
        let index = global_index(index_layout)?;
        let create = CreateGlobalSecondaryIndexAction::builder().index_name(index_layout.name);
        let create = create
            .set_key_schema(Some(index.key_schema))
            .set_projection(index.projection)
            .build()?;
        let update = client.update_table().table_name(name);
        let update = update.attribute_definitions(string_attribute(index_layout.partition_key)?);
        let update = update.attribute_definitions(string_attribute(index_layout.sort_key)?);
        let update = update.global_secondary_index_updates(
            GlobalSecondaryIndexUpdate::builder().create(create).build(),
        );
        update.send().await?;
    }

    Ok(())
}

/// Enables the time to live of a table, if the layout has one and it is not enabled yet.
async fn enable_ttl(client: &Client, layout: &TableLayout, name: &str) -> Result<()> {
    let Some(attribute) = layout.ttl_attribute else {
        return Ok(());
    };

    let description = client
        .describe_time_to_live()
        .table_name(name)
        .send()
        .await?
        .time_to_live_description;
    if let Some(description) = description
        && description.time_to_live_status() == Some(&TimeToLiveStatus::Enabled)
    {
        return Ok(());
    }

    let ttl = TimeToLiveSpecification::builder()
        .attribute_name(attribute)
        .enabled(true)
        .build()?;
    client
        .update_time_to_live()
        .table_name(name)
        .time_to_live_specification(ttl)
        .send()
        .await?;

    Ok(())
}

#[cfg(test)]
mod tests;
