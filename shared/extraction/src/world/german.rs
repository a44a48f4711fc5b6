//! The words and cues of German.

use super::calendar::{CalendarWords, NO_DAY, TimeStretch};
use super::{CueMeaning, LanguageTables};

pub(super) static LANGUAGE: LanguageTables = LanguageTables {
    fillers: "ehrlich gesagt|übrigens|also|na ja|naja|ja|nein,|okay|ok|gut|nun|ach|hallo|hi|hey|guten morgen|guten tag|guten abend|\
              danke|vielen dank|tatsächlich|eigentlich|kurz gesagt|wie gesagt|gerade|soeben|zur info|nur zur info|und|aber",
    labels: "fakt|fakten|tatsache|bestätigt|kurze info für die akte|kurze info|kurze notiz|notiz|info|merke|entscheidung|\
             beschluss|meiner meinung nach|meiner ansicht nach|ich denke|ich finde|ich glaube|ehrlich gesagt|korrektur",
    anaphors: "das|dies|diese|dieser|dieses|sie|er|es|ihre|ihr|ihren|sein|seine|damit|dadurch|deshalb|daher|dafür|danach|so|\
               außerdem|als begründung|die begründung|begründung|der grund|beide|manche|einige|andere|sagt|leider|ihm|ihnen",
    first_person: "ich|wir|mir|mich|uns",
    articles: "der|die|das|dem|den|des|ein|eine|einen|einem|einer|mein|meine|meinen|unser|unsere|von|vom|im|in|am|bei|beim|zu|\
               seit|jetzt|nun|sehr|auch|immer noch|noch|gern|gerne|wirklich",
    stop_words: "und|aber|oder|weil|da|seit|mit|nicht mehr|nicht|jetzt|gerade|geworden|gezogen|umgezogen|wegen|wenn|als|denn|sondern|\
            mehr|sehr|über alles|am liebsten|zusammen|heute|inzwischen|mittlerweile",
    negations: "nicht mehr|nicht|nie|kein|keine|keinen|nicht länger",
    questions: "oder",
    conjunctions: " und |, ",
    kinship: &[
        ("schwester", "sister"),
        ("bruder", "brother"),
        ("mutter", "mother"),
        ("mama", "mother"),
        ("vater", "father"),
        ("papa", "father"),
        ("ehefrau", "spouse"),
        ("ehemann", "spouse"),
        ("frau", "spouse"),
        ("mann", "spouse"),
        ("partnerin", "partner"),
        ("partner", "partner"),
        ("freundin", "partner"),
        ("tochter", "daughter"),
        ("sohn", "son"),
        ("hund", "dog"),
        ("hündin", "dog"),
        ("katze", "cat"),
        ("kater", "cat"),
    ],
    rules: &[
        (
            CueMeaning::Noise,
            "",
            "^ wenn|falls|ob|vielleicht|könntest|kannst|würdest|kann|könnte|soll|sollte|hätte; ^ lass|lasst uns; \
            ich weiß nicht; keine ahnung; ich hoffe; ^ nur| meine meinung|ansicht ,; auf meine|die liste; ^ gut zu wissen; \
            ^ nächste|nächster frage|schritt; es lohnt sich ,",
        ),
        (
            CueMeaning::Instruct,
            "",
            "bitte * immer|nie|niemals|stets|nur|kein|keine|keinen|nicht_mehr|künftig|ab_jetzt|ab_sofort; \
            ab_jetzt|ab_sofort|von_nun_an|künftig|in_zukunft * bitte|du|antworte|schreib|schreibe|nenn|nenne|verwende|benutze; \
            ^ antworte|schreib|schreibe|verwende|benutze|nutze|erkläre|sprich * immer|nie|stets|niemals|auf|nur; \
            du|sie sollst|solltest|musst|darfst|sollen|dürfen * immer|nie|niemals|kein|keine|nur; merk|merke dir; \
            ^ vergiss nicht|nie; ^ denk|denke daran; duze|sieze mich; ^ bitte| immer|nie|niemals|stets",
        ),
        (
            CueMeaning::Instruct,
            "name to use",
            "nenn|nenne mich|mich_bitte {v}",
        ),
        (
            CueMeaning::Trait,
            "name",
            "ich heiße {v}; heiße|heiß {v}; mein name ist|lautet {v}",
        ),
        (
            CueMeaning::Trait,
            "residence",
            "wohne|wohnen_wir|lebe * in {v}; {s} wohnt|lebt * in {v}; bin|sind * nach {v} gezogen|umgezogen; \
            {s} ist * nach {v} gezogen|umgezogen; mein wohnort ist {v}; {s} zog * nach {v}",
        ),
        (
            CueMeaning::Trait,
            "employer",
            "arbeite * bei|für {v}; {s} arbeitet * bei {v}; angestellt bei {v}; beschäftigt bei {v}; \
            mein arbeitgeber ist|heißt {v}; habe * bei {v} angefangen|gekündigt; fange * bei {v} an",
        ),
        (
            CueMeaning::Trait,
            "job",
            "arbeite * als {v}; {s} arbeitet * als {v}; von_beruf bin_ich {v}; bin von_beruf {v}; \
            ich bin {v} von_beruf; mein beruf ist {v}; bin * befördert * zum|zur {v}",
        ),
        (
            CueMeaning::Trait,
            "age",
            "bin {v} jahre alt|jung; bin {v} jahre $; {s} ist {v} jahre alt",
        ),
        (
            CueMeaning::Trait,
            "birthday",
            "habe am {v} geburtstag; mein geburtstag ist * am|der {v}; bin am {v} geboren; \
            {s} hat am {v} geburtstag",
        ),
        (
            CueMeaning::Trait,
            "origin",
            "komme * aus {v}; stamme * aus {v}; {s} kommt|stammt ursprünglich| aus {v}; \
            bin in {v} aufgewachsen|geboren",
        ),
        (
            CueMeaning::Trait,
            "kin",
            "mein|meine|unser|unsere {k} heißt {v}; der_name meiner|meines {k} ist|lautet {v}",
        ),
        (
            CueMeaning::Trait,
            "phone",
            "telefonnummer|handynummer|nummer ist|lautet {v}",
        ),
        (
            CueMeaning::Trait,
            "email",
            "e-mail-adresse|mailadresse|e-mail|emailadresse ist|lautet {v}",
        ),
        (CueMeaning::Trait, "diet=vegan", "bin|lebe|ernähre * vegan~"),
        (
            CueMeaning::Trait,
            "diet=vegetarian",
            "bin|lebe|ernähre * vegetari~",
        ),
        (
            CueMeaning::Trait,
            "allergy to",
            "bin * allergisch gegen|auf {v}",
        ),
        (
            CueMeaning::Favourite,
            "",
            "mein|meine|unser|unsere lieblings~ {a} ist|sind|heißt {v}",
        ),
        (
            CueMeaning::Dislike,
            "",
            "mag kein|keine|keinen {v}; mag {v} nicht|überhaupt_nicht|gar_nicht; hasse {v}; verabscheue {v}; \
            {s} hasst|verabscheut {v}; kann {v} nicht ausstehen|leiden; {s} mag kein|keine|keinen {v}; esse|trinke kein|keine|keinen {v}",
        ),
        (
            CueMeaning::Decide,
            "",
            "entschieden; beschlossen; entschlossen; beschloss; beschlossen; beschließt; entschied; entscheide mich|uns; \
            habe|haben|hat|wurde|wurden * vereinbart|festgelegt|gewählt|geeinigt|verworfen|ausgewählt|verabredet; \
            ^ gewählt|festgelegt|geeinigt|vereinbart; einigten|einigen uns|sich; ^ entscheidung|beschluss * :|für|zur|zum|über; \
            ^ übernehme|übernehmen; ^ wir|ich wechseln|wechsle|stellen|steigen|streichen|verwerfen|bauen|passen|ändern|verschieben; \
            werden|wird|werde|wir * künftig|ab_sofort|ab_jetzt|fortan|von_nun_an; ^ umstellung|wechsel|umstieg|vollständige_umstellung auf|von|zu; \
            ab_sofort|künftig|ab_jetzt * nur|kein|keine|wir",
        ),
        (
            CueMeaning::Plan,
            "",
            "ich|wir werde|werden; werde|werden ich|wir; ^ werde; versproch~; verspreche|verspricht; verpflicht~; zugesagt; \
            zugesichert; vorgenommen; habe|haben * vor $; plane|planen; beabsichtige~; ~kümmere mich; muss|müssen * bis; \
            ich|wir schicke|sende|liefere|erledige|schreibe|rufe|treffe|fahre|fliege|reise|gehe|mache|besuche|fange|kaufe|ziehe \
            * bis|am|morgen|übermorgen|nächste|nächsten|nächster|heute|im; wir|ich habe|haben bis * zeit|um|fertig; bestätigt , dass ich|wir",
        ),
        (CueMeaning::Favourite, "", "{s} lieblings~ {a} ist|sind {v}"),
        (
            CueMeaning::Prefer,
            "",
            "bevorzuge {v} gegenüber|statt|vor {a}; {s} bevorzugt {v} gegenüber|statt|vor {a}; trinke|esse|nehme|mag|höre|lese lieber {v} als {a}",
        ),
        (
            CueMeaning::Prefer,
            "",
            "bevorzug~; vorziehen; vorzuziehen; ziehe|zieht|ziehen * vor; lieber; am_liebsten; favorisier~; präferier~; \
            möchte|will|wünscht|wünsche|wollen|möchten|verlangt|besteht * dass; legt|lege * wert auf|darauf; besteht|bestehe auf|darauf; \
            setzt|setze sich|mich * dafür|für ein; möchte|will kein|keine|keinen|nie; würde|würden * statt",
        ),
        (
            CueMeaning::Opinion,
            "",
            "ich denke|glaube|finde; denke|finde|glaube|meine ich; der meinung|ansicht|überzeugung; davon überzeugt; \
            meiner meinung|ansicht|einschätzung|erfahrung nach; aus meiner sicht; in meinen augen; \
            ^ meine meinung|einschätzung|ansicht|sicht|haltung|lesart|these; halte|halten * für; bin|bleibe * skeptisch|überzeugt",
        ),
        (
            CueMeaning::Like,
            "",
            "ich mag|liebe|genieße {v}; mag|liebe ich {v}; ^ liebe|mag {v}; esse|trinke|höre|lese|spiele|koche gern|gerne {v}; \
            {s} mag|liebt {v}; gefällt|gefallen mir {v}; schmeckt mir {v}; bin * fan von|vom {v}",
        ),
        (
            CueMeaning::Property,
            "deadline",
            "~frist|deadline|stichtag|~termin|~schluss {s} ist|endet|lautet der|am|den {v}; \
            {s} ~frist|deadline|stichtag ist|endet|lautet der|am|den {v}",
        ),
        (
            CueMeaning::Dated,
            "",
            "frist|deadline|stichtag; wird|beginnt|startet|findet|endet|kommt|trifft|fährt|fliegt|reist; {s} ist|sind am|um|bis",
        ),
        (
            CueMeaning::Happened,
            "",
            "ich|wir habe|haben|bin|sind|war|waren|hatte|hatten|wurde; habe|haben|bin|sind|war ich|wir; gestern; \
            hat|haben|ist|sind * ge~; wurde|wurden|fand|begann|ging|starb|schlüpften|eröffnete",
        ),
        (
            CueMeaning::State,
            "",
            "^ fakt|fakten|tatsache|info|bestätigt|bestätigung|kurze_info|notiz|kurze_notiz * :|durch|von|dass; ^ zwei|drei fakten; ^ laut|gemäß",
        ),
        (
            CueMeaning::Weak,
            "property",
            "{a} von|des|der {s} ist|beträgt|lautet|sind {v}",
        ),
        (
            CueMeaning::Weak,
            "",
            "beträgt|betragen|kostet|verwendet|verwenden|nutzt|umfasst|enthält|dauert|reicht|reichen|läuft|wiegt|misst|wirkt|wirken|\
            überwintert|gehört|blockiert|liegt|liegen|befindet|leitet|gründete|unterstützt|besteht|braucht|bietet|hat|heißt|bezeichnet; \
            ist|sind|war|waren der|die|das|ein|eine|nur|seit|in|auf|bei|mit|etwa|rund|ca",
        ),
    ],
    calendar: CalendarWords {
        days: &[
            (
                "am morgen|jeden morgen|guten morgen|am nächsten morgen",
                NO_DAY,
            ),
            ("übermorgen", 2),
            ("vorgestern", -2),
            ("gestern", -1),
            ("heute", 0),
            ("morgen", 1),
        ],
        weekdays: [
            "montag",
            "dienstag",
            "mittwoch",
            "donnerstag",
            "freitag",
            "samstag|sonnabend",
            "sonntag",
        ],
        months: [
            "januar|jänner",
            "februar",
            "märz",
            "april",
            "mai",
            "juni",
            "juli",
            "august",
            "september",
            "oktober",
            "november",
            "dezember",
        ],
        day_first: true,
        next: "nächsten|nächste|nächster|kommenden|kommender",
        last: "letzten|letzte|letzter|vergangenen|vorigen",
        stretches: &[
            (
                "ende der woche|wochenende|ende dieser woche|sprintende",
                TimeStretch::WeekEnd,
            ),
            ("monatsende|ende des monats", TimeStretch::MonthEnd),
            ("quartalsende|ende des quartals", TimeStretch::QuarterEnd),
            ("jahresende|ende des jahres", TimeStretch::YearEnd),
            (
                "nächste woche|nächster woche|kommende woche|kommenden woche",
                TimeStretch::Week(1),
            ),
            (
                "letzte woche|letzter woche|vergangene woche|vorige woche",
                TimeStretch::Week(-1),
            ),
            ("diese woche|dieser woche", TimeStretch::Week(0)),
            (
                "nächsten monat|nächster monat|kommenden monat",
                TimeStretch::Month(1),
            ),
            (
                "letzten monat|vergangenen monat|vorigen monat",
                TimeStretch::Month(-1),
            ),
            ("diesen monat", TimeStretch::Month(0)),
            (
                "nächstes jahr|nächsten jahr|kommendes jahr",
                TimeStretch::Year(1),
            ),
            (
                "letztes jahr|letzten jahr|vergangenes jahr|voriges jahr",
                TimeStretch::Year(-1),
            ),
        ],
        future_words: ("in", ""),
        past_words: ("vor", ""),
        units: ["tag", "woche", "monat", "jahr"],
        numbers: &[
            "ein|eine|einem|einer",
            "zwei",
            "drei",
            "vier",
            "fünf",
            "sechs",
            "sieben",
            "acht",
            "neun",
            "zehn",
        ],
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{check, gives_nothing};
    use crate::language::Language::German;

    #[test]
    fn statements_of_german() {
        check(
            German,
            &[
                ("Hallo, ich heiße Tilda.", "fact user|name|tilda"),
                ("Ich wohne seit 2019 in Bonn.", "fact user|residence|bonn"),
                ("Ich wohne nicht mehr in Bonn.", "fact user|residence|!bonn"),
                ("Ich bin nach Berlin gezogen.", "fact user|residence|berlin"),
                ("Meine Schwester heißt Jule.", "fact user|sister|jule"),
                ("Mira arbeitet als Tischlerin.", "fact mira|job|tischlerin"),
                (
                    "Meine Lieblingsfarbe ist Blau.",
                    "preference user|favourite farbe|blau",
                ),
                (
                    "Ich mag keinen Spinat.",
                    "preference user|likes spinat|!spinat",
                ),
                ("Bitte antworte immer auf Deutsch.", "instruction"),
                ("Wir haben beschlossen, das Lager zu schließen.", "decision"),
                (
                    "Ich schicke dir den Bericht bis Freitag.",
                    "plan @2025-04-18",
                ),
                (
                    "In zwei Wochen werde ich nach Graz fahren.",
                    "plan @2025-04-29",
                ),
                (
                    "Die Abgabefrist des Antrags ist der 3. Mai.",
                    "fact antrags|deadline|3. mai @2025-05-03",
                ),
                ("Gestern habe ich mein Rad verkauft.", "event @2025-04-14"),
                (
                    "Ich trinke lieber Tee als Kaffee.",
                    "preference user|prefers kaffee / tee|tee",
                ),
                (
                    "Ich bin allergisch gegen Nüsse.",
                    "fact user|allergy to nüsse|nüsse",
                ),
                ("Jonna liest lieber Papier statt Bildschirm.", "preference"),
                ("Ich finde, die neue Halle ist zu laut.", "preference"),
                ("Fakt: Der Tank fasst 40 Liter.", "fact"),
            ],
        );
    }

    #[test]
    fn noise_of_german() {
        gives_nothing(
            German,
            &[
                "Wie geht es dir?",
                "Guten Morgen!",
                "Vielen Dank für deine Hilfe!",
                "Das ist ja toll!",
                "Okay, verstanden.",
                "Wenn du Zeit hast, ruf mich an.",
                "Könntest du das bitte prüfen?",
                "Keine Ahnung.",
                "Bis später!",
                "Na ja.",
            ],
        );
    }
}
