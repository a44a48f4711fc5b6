//! The words and cues of Italian.

use super::calendar::{CalendarWords, NO_DAY, TimeStretch};
use super::{CueMeaning, LanguageTables};

pub(super) static LANGUAGE: LanguageTables = LanguageTables {
    fillers: "onestamente|sinceramente|a dire il vero|in realtà|comunque|allora|beh|bene|ok|va bene|sì|no,|ciao|salve|buongiorno|\
              buonasera|grazie|grazie mille|a proposito|tra l'altro|e|ma|appena",
    labels: "fatto|fatti|confermato|nota|nota rapida|decisione|informazione|dato|correzione",
    anaphors: "questo|questa|questi|queste|quello|quella|ciò|lui|lei|loro|essi|esse|suo|sua|suoi|sue|così|quindi|perciò|inoltre|anche|\
               il motivo|la ragione|la motivazione|il ragionamento|il suo ragionamento|la sua motivazione|alcuni|altri|entrambi|dice|i suoi",
    first_person: "io|noi|mi|ci|me",
    articles: "il|lo|la|i|gli|le|l'|un|uno|una|un'|del|dello|della|dell'|dei|delle|di|mio|mia|miei|nostro|nostra|a|ad|in|al|ora|adesso|molto",
    stop_words: "e|ma|o|perché|poiché|da|con|ora|adesso|attualmente|quando|che|piuttosto|più|molto|anche|oggi|per|dal",
    negations: "non|mai|nessun|nessuna|più",
    questions: "vero|giusto",
    conjunctions: " e |, ",
    kinship: &[
        ("sorella", "sister"),
        ("fratello", "brother"),
        ("madre", "mother"),
        ("mamma", "mother"),
        ("padre", "father"),
        ("papà", "father"),
        ("moglie", "spouse"),
        ("marito", "spouse"),
        ("fidanzata", "partner"),
        ("fidanzato", "partner"),
        ("ragazza", "partner"),
        ("ragazzo", "partner"),
        ("compagna", "partner"),
        ("compagno", "partner"),
        ("figlia", "daughter"),
        ("figlio", "son"),
        ("cane", "dog"),
        ("cagnolina", "dog"),
        ("gatta", "cat"),
        ("gatto", "cat"),
    ],
    rules: &[
        (
            CueMeaning::Noise,
            "",
            "^ se|forse|magari|potresti|puoi|potete|può|possiamo|spero|speriamo|chissà; non so; non ne_ho_idea; nessuna idea; \
            ^ è|solo|è_solo|è_solo_la la_mia|mia opinione|impressione; nella|alla mia lista; ^ buono|utile|bene a_sapersi|da_sapere|saperlo; vale_la_pena",
        ),
        (
            CueMeaning::Instruct,
            "",
            "per_favore|per_piacere * sempre|mai|solo|soltanto; sempre|mai * per_favore; \
            d'ora_in_poi|da_ora_in_poi|d'ora_in_avanti|da_adesso * per_favore|rispondi|scrivi|usa|utilizza|parla|chiamami; \
            ^ rispondi|scrivi|usa|utilizza|parla|includi * sempre|solo|in; ^ non * mai ; devi|dovresti|deve * sempre|mai; ricorda|ricordati che|di|sempre; \
            ^ non dimenticare|usare|scrivere|rispondere; dammi del_tu|del_lei",
        ),
        (
            CueMeaning::Instruct,
            "name to use",
            "chiamami|mi_chiami {v} $",
        ),
        (
            CueMeaning::Trait,
            "kin",
            "mio|mia|nostro|nostra {k} si_chiama {v}; il_nome_di_mia|il_nome_di_mio|il_nome_del_mio|il_nome_della_mia {k} è {v}",
        ),
        (
            CueMeaning::Trait,
            "name",
            "mi_chiamo {v}; il_mio nome è {v}",
        ),
        (
            CueMeaning::Trait,
            "residence",
            "abito|abitiamo|vivo|viviamo|risiedo * a|ad|in|nel {v}; {s} abita|vive|risiede * a|ad|in {v}; mi_sono|ci_siamo trasferito|trasferita|trasferiti|spostato a|ad|in {v}; \
            {s} si_è trasferito|trasferita a|ad|in {v}",
        ),
        (
            CueMeaning::Trait,
            "employer",
            "lavoro|lavoriamo * per|presso|alla|da|in {v}; {s} lavora * per|presso|alla|da {v}; ho_lasciato il_lavoro_alla|il_lavoro_in|la {v}; \
            ho_iniziato_a_lavorare|sono_stato_assunto|sono_stata_assunta alla|da|in|presso {v}",
        ),
        (
            CueMeaning::Trait,
            "job",
            "lavoro|lavoriamo * come {v}; {s} lavora * come {v}; faccio il|la|l' {v}; la_mia professione è {v}; promosso|promossa a {v}",
        ),
        (CueMeaning::Trait, "age", "ho {v} anni; {s} ha {v} anni $"),
        (
            CueMeaning::Trait,
            "birthday",
            "il_mio compleanno è|cade * il {v}; sono nato|nata il {v}; compio gli_anni il {v}; il_compleanno_di {s} è il {v}",
        ),
        (
            CueMeaning::Trait,
            "origin",
            "vengo * da|dal|dalla {v} $; sono originario|originaria di|del|della {v}; sono nato|nata a|ad|in {v}; {s} viene da|dal|dalla {v} $",
        ),
        (
            CueMeaning::Trait,
            "phone",
            "numero_di_telefono|mio_numero|cellulare è {v}",
        ),
        (
            CueMeaning::Trait,
            "email",
            "mia|la_mia e-mail|email|mail è {v}; indirizzo_e-mail|indirizzo_email è {v}",
        ),
        (CueMeaning::Trait, "diet=vegetarian", "sono * vegetarian~"),
        (CueMeaning::Trait, "diet=vegan", "sono * vegan~"),
        (
            CueMeaning::Trait,
            "allergy to",
            "sono * allergico|allergica a|al|ai|alle|alla {v}",
        ),
        (
            CueMeaning::Favourite,
            "",
            "mio|mia|miei|mie|nostro {a} preferito|preferita|preferiti|preferite è|sono {v}; il|la {a} preferito|preferita di {s} è {v}",
        ),
        (
            CueMeaning::Dislike,
            "",
            "non mi_piace|mi_piacciono più|| {v}; a {s} non_piace|non_piacciono {v}; odio|detesto {v}; {s} odia|detesta {v}; \
            non sopporto|mangio|bevo {v}",
        ),
        (
            CueMeaning::Decide,
            "",
            "deciso; decidiamo; decise; concordato; scelto; optato; stabilito; convenuto; ^ decisione * :|presa|su|sul|di; \
            ^ passiamo|passaggio|adottiamo|adotto|abbandoniamo|cambiamo|cambio|migriamo|annulliamo|adeguiamo|integriamo|inseriamo|transizione; \
            basta con|~; niente_più; d'ora_in_poi|da_ora_in_poi|in_futuro * solo|non|tutte|tutti|useremo|saranno|sarà|verranno|si; ^ non * più ; \
            ^ adottando|incorporando|integrando|adeguando|passando|adozione|adeguamento|sto_adottando",
        ),
        (
            CueMeaning::Plan,
            "",
            "promesso; prometto|promette; impegnat~; impegno; si_impegna|mi_impegno|ci_impegniamo; ~erò|~irò|~arò|~drò|~rrò; farò|sarò|avrò|andrò|darò|potrò; \
            ~eremo|~iremo; faremo|avremo|saremo|andremo; ho|abbiamo intenzione|in_programma di; intendo|intendiamo|conto|penso di| ~are|~ere|~ire; \
            devo|dobbiamo * entro|prima; abbiamo|ho tempo|fino; sto_per|stiamo_per; vado|andiamo * domani|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica; confermato|confermo che_ci|la_mia_presenza",
        ),
        (
            CueMeaning::Prefer,
            "",
            "preferisco {v} al|alla|all'|ai|alle|invece_di|rispetto_al|rispetto_alla {a}; {s} preferisce {v} al|alla|all'|ai|alle|invece_di|rispetto_al|rispetto_alla {a}",
        ),
        (
            CueMeaning::Prefer,
            "",
            "prefer~; preferisc~; piuttosto_che; anziché * piace; invece_di * piace; privilegia|predilige; {s} vuole|desidera|esige|insiste|chiede * che; \
            vorrebbe|vorrei|gradirebbe che; non vuole|voglio|vogliamo che; tende|propende a|per; è|sono * favorevole a|alla|al",
        ),
        (
            CueMeaning::Opinion,
            "",
            "penso|credo|ritengo|trovo|considero|sento che; ^ penso|credo|ritengo|trovo|considero; mi_sembra|mi_sembrano|mi_pare; a_mio avviso|parere; \
            secondo_me; per_me ,; secondo il_mio parere; mia|la_mia opinione|visione|impressione|lettura|idea|posizione * :|è|sul|sulla; dal mio_punto_di_vista; sono|resto scettico|scettica|convinto|convinta",
        ),
        (
            CueMeaning::Like,
            "",
            "mi_piace|mi_piacciono molto|tanto|| {v}; a {s} piace|piacciono molto|| {v}; adoro|amo {v}; {s} adora|ama {v}; sono * fan di|del|della {v}",
        ),
        (
            CueMeaning::Property,
            "deadline",
            "scadenza|termine|termine_ultimo|data_di_scadenza|data_limite di|del|della|dell'|per|dei|delle {s} è|scade * il|l'|al {v}; \
            scadenza|termine|data_limite è|scade * il|l'|al {v}",
        ),
        (
            CueMeaning::Dated,
            "",
            "scadenza|termine; sarà|saranno|inizia|inizierà|comincia|comincerà|finisce|finirà|avrà|arriva|arriverà|parte|partirà|scade|deve; \
            ~erà|~irà|~eranno|~iranno; è|sono il|previsto|prevista|domani|l'",
        ),
        (
            CueMeaning::Happened,
            "",
            "ieri; l'altro_ieri; ho|abbiamo|ha|hanno|sono|siamo|è ~ato|~ata|~ati|~uto|~uta|~ito|~ita|fatto|preso|visto|perso|letto|scritto; era|erano|fu",
        ),
        (
            CueMeaning::State,
            "",
            "^ fatto|fatti|confermato|confermata|conferma|nota|nota_rapida|informazione|dato * :|da|dal|dai|che|con|tramite; ^ due|tre fatti; ^ secondo",
        ),
        (
            CueMeaning::Weak,
            "property",
            "{a} di|del|della|dell' {s} è|sono|dura {v}",
        ),
        (
            CueMeaning::Weak,
            "",
            "è|sono|era|ha|hanno|costa|misura|pesa|dura|usa|usano|utilizza|contiene|comprende|si_trova|poggia|appartiene|c'è|ci_sono|funziona|richiede|\
            sverna|passa|vale|raggiunge|supera|risalgono|copre|blocca|bloccando|iniziato|emerse|spuntate",
        ),
    ],
    calendar: CalendarWords {
        days: &[
            ("il domani", NO_DAY),
            ("dopodomani", 2),
            ("l'altro ieri|altroieri", -2),
            ("ieri", -1),
            ("oggi|stasera|stamattina", 0),
            ("domani", 1),
        ],
        weekdays: [
            "lunedì",
            "martedì",
            "mercoledì",
            "giovedì",
            "venerdì",
            "sabato",
            "domenica",
        ],
        months: [
            "gennaio",
            "febbraio",
            "marzo",
            "aprile",
            "maggio",
            "giugno",
            "luglio",
            "agosto",
            "settembre",
            "ottobre",
            "novembre",
            "dicembre",
        ],
        day_first: true,
        next: "prossimo|prossima",
        last: "scorso|scorsa|passato",
        stretches: &[
            (
                "fine settimana|fine della settimana|fine dello sprint|fine sprint|weekend",
                TimeStretch::WeekEnd,
            ),
            ("fine mese|fine del mese", TimeStretch::MonthEnd),
            ("fine trimestre|fine del trimestre", TimeStretch::QuarterEnd),
            ("fine anno|fine dell'anno", TimeStretch::YearEnd),
            (
                "prossima settimana|settimana prossima",
                TimeStretch::Week(1),
            ),
            ("settimana scorsa|scorsa settimana", TimeStretch::Week(-1)),
            ("questa settimana", TimeStretch::Week(0)),
            ("prossimo mese|mese prossimo", TimeStretch::Month(1)),
            ("mese scorso|scorso mese", TimeStretch::Month(-1)),
            ("questo mese", TimeStretch::Month(0)),
            ("prossimo anno|anno prossimo", TimeStretch::Year(1)),
            ("anno scorso|scorso anno", TimeStretch::Year(-1)),
        ],
        future_words: ("tra|fra|entro", ""),
        past_words: ("", "fa"),
        units: ["giorn", "settiman", "mes", "ann"],
        numbers: &[
            "un|una|uno",
            "due",
            "tre",
            "quattro",
            "cinque",
            "sei",
            "sette",
            "otto",
            "nove",
            "dieci",
        ],
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{check, gives_nothing};
    use crate::language::Language::Italian;

    #[test]
    fn statements_of_italian() {
        check(
            Italian,
            &[
                ("Ciao, mi chiamo Livia.", "fact user|name|livia"),
                ("Abito a Torino da maggio.", "fact user|residence|torino"),
                ("Non abito più a Torino.", "fact user|residence|!torino"),
                ("Mi sono trasferita a Genova.", "fact user|residence|genova"),
                ("Mia sorella si chiama Chiara.", "fact user|sister|chiara"),
                (
                    "Il mio colore preferito è il verde.",
                    "preference user|favourite colore|verde",
                ),
                (
                    "Non mi piace il finocchio.",
                    "preference user|likes finocchio|!finocchio",
                ),
                ("D'ora in poi rispondi in italiano.", "instruction"),
                ("Abbiamo deciso di chiudere il magazzino.", "decision"),
                ("Ti manderò il rapporto entro venerdì.", "plan @2025-04-18"),
                ("Tra due settimane andrò a Bari.", "plan @2025-04-29"),
                (
                    "La scadenza della domanda è il 3 maggio.",
                    "fact domanda|deadline|3 maggio @2025-05-03",
                ),
                ("Ieri ho venduto la mia bici.", "event @2025-04-14"),
                ("Penso che la nuova sala sia troppo rumorosa.", "preference"),
                (
                    "Dario preferisce il treno all'aereo.",
                    "preference dario|prefers aereo / treno|treno",
                ),
                ("Confermato: il serbatoio contiene 40 litri.", "fact"),
            ],
        );
    }

    #[test]
    fn noise_of_italian() {
        gives_nothing(
            Italian,
            &[
                "Come stai?",
                "Buongiorno!",
                "Grazie mille per il tuo aiuto.",
                "Che bello!",
                "Va bene, capito.",
                "Se hai tempo, chiamami.",
                "Puoi controllare?",
                "Non so.",
                "A presto!",
                "Questo è fantastico.",
            ],
        );
    }
}
