//! The hosted picker: a browser that may select items for one connection, for half an hour.

use super::consent::find_ticket_connection;
use super::selection::check_awaits_selection;
use super::tickets::{TicketKind, TicketValue, issue_ticket, read_ticket, redeem};
use crate::Ctx;
use domain::connection::Connection;
use domain::error::{Error, Result};
use domain::tenant::Tenant;
use domain::time::Timestamp;
use domain::vault::Secret;

/// The number of seconds for which the address of a picker works.
const PICKER_SECONDS: i64 = 5 * 60;
/// The number of seconds for which a browser may use the picker.
pub const PICKER_SESSION_SECONDS: i64 = 30 * 60;

/// The session of a browser in the picker.
#[derive(Debug)]
pub struct PickerSession {
    /// The tenant that it acts for.
    pub tenant: Tenant,
    /// The one connection that it may select items for.
    pub connection: Connection,
    /// The address to which the browser is redirected at the end.
    pub return_url: Option<String>,
}

/// Issues a ticket that opens the picker once. Returns it with the time at which it expires.
///
/// # Errors
/// Returns [`Error::Conflict`] before there is permission and when the connection takes the whole
/// drive, and the errors of the ports.
pub async fn open_picker(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    return_url: Option<String>,
) -> Result<(Secret, Timestamp)> {
    check_awaits_selection(connection)?;

    let until = ctx.clock.now().plus_seconds(PICKER_SECONDS);
    let ticket_value = TicketValue {
        return_url,
        ..TicketValue::new(tenant, &connection.id)
    };

    Ok((
        issue_ticket(ctx, TicketKind::Picker, &ticket_value, until).await?,
        until,
    ))
}

/// Begins a session for the first browser that brings the ticket, and returns it with the tenant
/// that it acts for.
///
/// # Errors
/// Returns [`Error::NotFound`] for a ticket that has expired or was used, and the errors of the
/// ports.
pub async fn enter_picker(ctx: &Ctx, ticket: &str) -> Result<(Secret, Tenant)> {
    let Some(ticket_value) = redeem(ctx, TicketKind::Picker, ticket).await? else {
        return Err(Error::NotFound("Ticket"));
    };
    let session = begin_session(ctx, &ticket_value).await?;
    Ok((session, ticket_value.tenant()))
}

/// Begins a session for the user who has just given permission.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn open_session_after_consent(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
) -> Result<Secret> {
    begin_session(ctx, &TicketValue::new(tenant, &connection.id)).await
}

async fn begin_session(ctx: &Ctx, ticket_value: &TicketValue) -> Result<Secret> {
    let until = ctx.clock.now().plus_seconds(PICKER_SESSION_SECONDS);
    issue_ticket(ctx, TicketKind::Session, ticket_value, until).await
}

/// Returns the session that a cookie stands for.
///
/// # Errors
/// Returns [`Error::Unauthenticated`] when the session has ended, [`Error::NotFound`] when its
/// connection has, and the errors of the ports.
pub async fn find_picker_session(ctx: &Ctx, cookie: Option<&str>) -> Result<PickerSession> {
    let session_ended = Error::Unauthenticated("the session has ended; ask for a new link");
    let Some(cookie) = cookie else {
        return Err(session_ended);
    };

    let Some(ticket_value) = read_ticket(ctx, TicketKind::Session, cookie).await? else {
        return Err(session_ended);
    };
    let tenant = ticket_value.tenant();
    let connection = find_ticket_connection(ctx, &tenant, &ticket_value).await?;
    let return_url = ticket_value
        .return_url
        .or_else(|| connection.redirect_url.clone());

    Ok(PickerSession {
        tenant,
        connection,
        return_url,
    })
}

/// Ends a session. A session that has already ended is ignored.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn end_picker_session(ctx: &Ctx, cookie: &str) -> Result<()> {
    redeem(ctx, TicketKind::Session, cookie).await?;
    Ok(())
}
