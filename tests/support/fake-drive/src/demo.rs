//! A small drive with realistic content for the demonstration.

use serde::Serialize;

use crate::admin::DriveAdmin;
use crate::content;
use crate::drive_contents::{EditRefused, SheetTable, Slide};

/// The accounts and folders of the demonstration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DemoContent {
    /// The account to connect.
    pub account: String,
    /// A colleague who shares items with the account.
    pub colleague: String,
    /// A shared drive of both accounts.
    pub drive: String,
    /// The folder to select.
    pub folder: String,
}

const MIRA: &str = "mira.olsen@harbour-bikes.example";
const TOMAS: &str = "tomas.reyes@harbour-bikes.example";

impl DriveAdmin {
    /// Fills the drive with the demonstration content.
    ///
    /// # Errors
    /// Fails only if the content does not fit the drive, which is a bug in the demonstration.
    pub fn fill_with_demo(&self) -> Result<DemoContent, EditRefused> {
        build_document(self)
    }
}

pub(crate) fn build_document(admin: &DriveAdmin) -> Result<DemoContent, EditRefused> {
    let root = admin.get_or_create_account(MIRA).root().to_owned();
    let folder = create_shop(admin, &root)?;
    create_private_items(admin, &root, &folder)?;
    create_shared_items(admin)?;
    let drive = create_workshop_drive(admin)?;
    Ok(DemoContent {
        account: MIRA.to_owned(),
        colleague: TOMAS.to_owned(),
        drive,
        folder,
    })
}

fn table(name: &str, rows: &[&[&str]]) -> SheetTable {
    let rows = rows
        .iter()
        .map(|row| row.iter().map(|cell| (*cell).to_owned()).collect())
        .collect();
    SheetTable {
        name: name.to_owned(),
        rows,
    }
}

fn slide(title: &str, lines: &[&str], notes: &str) -> Slide {
    let lines = lines.iter().map(|line| (*line).to_owned()).collect();
    Slide {
        title: title.to_owned(),
        lines,
        notes: notes.to_owned(),
    }
}

/// Creates the folder of the shop's documents.
fn create_shop(admin: &DriveAdmin, root: &str) -> Result<String, EditRefused> {
    let shop = admin.add_folder(root, "Harbour Bikes")?;
    create_rentals(admin, &shop)?;
    create_suppliers(admin, &shop)?;
    admin.add_doc(
        &shop,
        "Opening hours and keys",
        "# Opening hours and keys\n\nFrom April to October the shop is open from 8 to 19, in winter from 10 to 17.\n\n\
         The spare key hangs in the chandlery next door; **Runa** knows the code of the box.\n",
    )?;
    admin.add_slides(
        &shop,
        "Season review",
        vec![
            slide(
                "The season in short",
                &[
                    "1,310 rental days",
                    "Cargo bicycles were booked out in July",
                ],
                "Thank the weekend team here.",
            ),
            slide(
                "Next year",
                &["Two more Gannet cargo bicycles", "Online booking by March"],
                "The bank has agreed to the loan in principle.",
            ),
        ],
    )?;

    Ok(shop)
}

fn create_rentals(admin: &DriveAdmin, shop: &str) -> Result<(), EditRefused> {
    let rentals = admin.add_folder(shop, "Rentals")?;
    admin.add_doc(
        &rentals,
        "Rental terms",
        "# Rental terms\n\nA day costs 24 euros, a week 110. The deposit is 80 euros for each bicycle.\n\n\
         ## Returns\n\nBicycles come back before closing time. After that a second day is charged.\n",
    )?;
    admin.add_sheet(
        &rentals,
        "Fleet",
        vec![
            table(
                "Bicycles",
                &[
                    &["Number", "Model", "Frame", "Bought"],
                    &["11", "Tern tourer", "56", "2023"],
                    &["12", "Tern tourer", "52", "2023"],
                    &["17", "Gannet cargo", "one size", "2025"],
                ],
            ),
            table(
                "Repairs",
                &[
                    &["Number", "What", "Cost"],
                    &["12", "New chain and cassette", "94.50"],
                    &["17", "Brake pads", "31"],
                ],
            ),
        ],
    )?;

    Ok(())
}

fn create_suppliers(admin: &DriveAdmin, shop: &str) -> Result<(), EditRefused> {
    let suppliers = admin.add_folder(shop, "Suppliers")?;
    let prices = "Gannet price list, spring\n\nCargo bicycle G2: 2,890 euros net\nChild seat: 145 euros net\n\
                  Rain cover: 88 euros net\nDelivery takes five weeks from the order.";
    admin.add_file(
        &suppliers,
        "Gannet price list.pdf",
        "application/pdf",
        content::build_pdf(prices),
    )?;
    admin.add_file(
        &suppliers,
        "contacts.csv",
        "text/csv",
        "name,phone\nGannet works,+45 00 11 22 33\nTern north,+45 00 44 55 66\n",
    )?;
    admin.add_file(
        &suppliers,
        "ordering.md",
        "text/markdown",
        "# Ordering\n\nOrders above 3,000 euros need a second signature. Tern ships on Tuesdays.\n",
    )?;

    Ok(())
}

/// Creates items that only the owner can see.
fn create_private_items(admin: &DriveAdmin, root: &str, shop: &str) -> Result<(), EditRefused> {
    let home = admin.add_folder(root, "Home")?;
    admin.add_doc(
        &home,
        "Allotment plan",
        "# Allotment plan\n\nBeans in the north bed, squash where the potatoes were.\n",
    )?;
    admin.add_file(
        &home,
        "recipe.txt",
        "text/plain",
        "Rye bread: 500 g rye, 400 g water, 12 g salt. Bake 55 minutes.\n",
    )?;
    admin.add_shortcut(&home, "Work", shop)?;
    let draft = admin.add_doc(
        &home,
        "Letter to the landlord (draft)",
        "The gutter above the door leaks again.\n",
    )?;
    admin.trash_item(&draft)?;
    admin.add_file(
        root,
        "notes.html",
        "text/html",
        "<h1>Ideas</h1><p>A tour of the lighthouses, in two days.</p>",
    )?;

    Ok(())
}

/// Creates the items that the colleague shares.
fn create_shared_items(admin: &DriveAdmin) -> Result<(), EditRefused> {
    let root = admin.get_or_create_account(TOMAS).root().to_owned();
    let tours = admin.add_folder(&root, "Guided tours")?;
    admin.add_doc(
        &tours,
        "Lighthouse tour",
        "# Lighthouse tour\n\n38 km, four stops, coffee at the second.\n",
    )?;
    admin.add_doc(
        &tours,
        "Harbour tour",
        "# Harbour tour\n\n9 km on flat ground, fit for children from eight years.\n",
    )?;
    admin.share_item(&tours, MIRA)?;
    let insurance = admin.add_file(
        &root,
        "insurance.txt",
        "text/plain",
        "Policy HB-2207 covers guided tours of up to 14 people.\n",
    )?;
    admin.share_item(&insurance, MIRA)?;
    admin.add_doc(&root, "Salary talk", "Only for me.\n")?;

    Ok(())
}

/// Creates the shared drive.
fn create_workshop_drive(admin: &DriveAdmin) -> Result<String, EditRefused> {
    let drive = admin.create_shared_drive("Workshop", &[MIRA, TOMAS]);
    let manuals = admin.add_folder(&drive, "Manuals")?;
    admin.add_doc(
        &manuals,
        "Brake bleeding",
        "# Brake bleeding\n\nUse mineral oil only. Torque of the lever clamp: 4 Nm.\n",
    )?;
    admin.add_doc(
        &manuals,
        "Wheel truing",
        "# Wheel truing\n\nQuarter turns. Stop at 0.3 mm of wobble.\n",
    )?;
    admin.add_sheet(
        &drive,
        "Tool inventory",
        vec![table(
            "Tools",
            &[
                &["Tool", "Shelf"],
                &["Truing stand", "B2"],
                &["Torque wrench", "A1"],
            ],
        )],
    )?;

    Ok(drive)
}

#[cfg(test)]
mod tests {
    use crate::FakeDrive;

    #[tokio::test]
    async fn the_demonstration_has_everything_once() {
        let drive = FakeDrive::start().await.unwrap();
        let demo = drive.fill_with_demo().unwrap();
        for name in [
            "Rental terms",
            "Fleet",
            "Season review",
            "Gannet price list.pdf",
            "Guided tours",
            "Wheel truing",
        ] {
            assert_eq!(drive.find_by_name(name).len(), 1, "{name}");
        }

        assert_eq!(drive.find_by_name("Harbour Bikes"), [demo.folder]);
    }
}
