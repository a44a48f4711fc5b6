//! The first things that a newcomer tries: a few short notes, questions about one of them, and
//! questions about none.

/// Short documents.
pub(crate) const NOTES: [&str; 12] = [
    "I am allergic to peanuts and prefer vegetarian food.",
    "Our weekly planning meeting moved to Thursday at 10 am.",
    "The staging database runs on PostgreSQL 16 in eu-central-1.",
    "Anna's favourite colour is green and she plays the cello.",
    "To rotate the API key, open Settings, choose Keys and press Rotate.",
    "Max moved from Berlin to Lisbon last spring for a job at a shipping company.",
    "Invoices are paid within 30 days; late payments cost a fee of 2 percent.",
    "The quick brown fox jumps over the lazy dog.",
    "Our refund policy: customers can return products within 14 days of delivery.",
    "I love hiking in the Alps and I ride my bike to work every day.",
    "My dog Rex is a three year old labrador who loves swimming.",
    "Project Falcon ships on March 3rd; Priya leads the backend team.",
];

/// Questions with the index of the note that answers them.
pub(crate) const QUESTIONS: [(&str, usize); 24] = [
    ("What food am I allergic to?", 0),
    ("Does the user have any allergies?", 0),
    ("When is the planning meeting?", 1),
    ("which day is our weekly meeting", 1),
    ("What database does staging use?", 2),
    ("Where is the staging database hosted?", 2),
    ("What is Anna's favourite color?", 3),
    ("Which instrument does Anna play?", 3),
    ("How do I rotate an API key?", 4),
    ("rotate key settings", 4),
    ("Where did Max move?", 5),
    ("Who works at a shipping company?", 5),
    ("How much is the late payment fee?", 6),
    ("When are invoices paid?", 6),
    ("What does the fox jump over?", 7),
    ("What is the refund policy?", 8),
    ("How many days do customers have to return a product?", 8),
    ("What hobbies do I have? hiking?", 9),
    ("How do I get to work?", 9),
    ("What is my dog's name?", 10),
    ("What breed is Rex?", 10),
    ("When does Falcon ship?", 11),
    ("Who leads the backend team?", 11),
    ("falcon release date", 11),
];
