//! The words and cues of French.

use super::calendar::{CalendarWords, NO_DAY, TimeStretch};
use super::{CueMeaning, LanguageTables};

pub(super) static LANGUAGE: LanguageTables = LanguageTables {
    fillers: "honnêtement|franchement|à vrai dire|au fait|d'ailleurs|bon|ben|bah|alors|ok|d'accord|oui|non,|bonjour|salut|bonsoir|merci|\
              merci beaucoup|en fait|pour info|et|mais|eh bien",
    labels: "fait|faits|confirmé|info rapide|note|note rapide|décision|à mon avis|selon moi|je pense que|je crois que|correction|\
             honnêtement|information|vient d'être confirmé",
    anaphors: "cela|ça|ce|c'est|cet|cette|ces|ceci|il|elle|ils|elles|son|sa|ses|leur|leurs|ainsi|donc|c'était|cela dit|de plus|aussi|\
               la raison|le raisonnement|son raisonnement|certains|d'autres|les deux|dit|lui",
    first_person: "je|j'|nous|moi|on",
    articles: "le|la|les|l'|un|une|des|du|de la|de l'|de|d'|mon|ma|mes|notre|nos|à|au|en|maintenant|désormais|très|beaucoup|plus|pas",
    stop_words: "et|mais|ou|parce que|car|depuis|avec|maintenant|aujourd'hui|actuellement|quand|que|qui|plutôt|plus|pas|beaucoup|aussi|pour",
    negations: "ne|n'|plus|pas|jamais|aucun|aucune",
    questions: "non|hein",
    conjunctions: " et |, ",
    kinship: &[
        ("sœur", "sister"),
        ("soeur", "sister"),
        ("frère", "brother"),
        ("mère", "mother"),
        ("maman", "mother"),
        ("père", "father"),
        ("papa", "father"),
        ("femme", "spouse"),
        ("épouse", "spouse"),
        ("mari", "spouse"),
        ("époux", "spouse"),
        ("copine", "partner"),
        ("copain", "partner"),
        ("compagne", "partner"),
        ("compagnon", "partner"),
        ("fille", "daughter"),
        ("fils", "son"),
        ("chienne", "dog"),
        ("chien", "dog"),
        ("chatte", "cat"),
        ("chat", "cat"),
    ],
    rules: &[
        (
            CueMeaning::Noise,
            "",
            "^ si|s'il_y|peut-être|pourrais-tu|peux-tu|pouvez-vous|pourriez-vous|est-ce|j'espère|espérons; je ne sais pas; aucune idée; \
            ^ c'est|ce_n'est|juste mon|que|qu'un avis|mon; sur|à ma liste; ^ bon|utile à savoir; ça|cela vaut",
        ),
        (
            CueMeaning::Instruct,
            "",
            "s'il_te_plaît|s'il_vous_plaît|stp|merci_de * toujours|jamais|uniquement|seulement; toujours|jamais * s'il_te_plaît|s'il_vous_plaît; \
            désormais|dorénavant|à_partir_de_maintenant * réponds|répondez|écris|écrivez|utilise|utilisez|parle|appelle|s'il; \
            ^ réponds|répondez|écris|écrivez|utilise|utilisez|emploie|parle * toujours|jamais|en|uniquement; ^ ne|n' * jamais ; \
            tu|vous dois|devez|devrais * toujours|jamais; rappelle-toi|souviens-toi|souvenez-vous|n'oublie que|pas|de; tutoie-moi|vouvoie-moi|vouvoyez-moi",
        ),
        (
            CueMeaning::Instruct,
            "name to use",
            "appelle-moi|appelez-moi {v}",
        ),
        (
            CueMeaning::Trait,
            "kin",
            "ma|mon|notre {k} s'appelle|se_nomme {v}; le_nom_de ma|mon {k} est {v}",
        ),
        (
            CueMeaning::Trait,
            "name",
            "je m'appelle {v}; m'appelle {v}; mon nom|prénom est {v}",
        ),
        (
            CueMeaning::Trait,
            "residence",
            "j'habite|habite|vis|vivons|habitons * à|en|au|aux {v}; n'habite|n'habitons plus à|en|au {v}; {s} habite|vit * à|en|au {v}; \
            déménagé|emménagé|installé|installée * à|en|au {v}; {s} n'habite plus à|en {v}",
        ),
        (
            CueMeaning::Trait,
            "employer",
            "je|j' travaille|travaillais plus|maintenant|actuellement| chez|pour {v}; travaille chez|pour {v}; {s} travaille * chez|pour {v}; \
            quitté mon_poste_chez|mon_emploi_chez {v}; rejoint l'entreprise|la_société {v}; embauché|embauchée chez {v}",
        ),
        (
            CueMeaning::Trait,
            "job",
            "travaille comme|en_tant_que {v}; {s} travaille comme|en_tant_que {v}; mon métier|ma_profession est|c'est {v}; promu|promue {v}",
        ),
        (CueMeaning::Trait, "age", "j'ai {v} ans; {s} a {v} ans $"),
        (
            CueMeaning::Trait,
            "birthday",
            "mon anniversaire est|c'est|tombe le {v}; suis|est né|née le {v}; l'anniversaire_de {s} est le {v}",
        ),
        (
            CueMeaning::Trait,
            "origin",
            "je viens|suis_originaire de|du|d' {v}; je suis né|née à|en {v}; {s} vient|est_originaire de|du|d' {v} $",
        ),
        (
            CueMeaning::Trait,
            "phone",
            "numéro_de_téléphone|numéro est|c'est {v}",
        ),
        (
            CueMeaning::Trait,
            "email",
            "adresse_mail|adresse_e-mail|mail|e-mail|courriel est|c'est {v}",
        ),
        (CueMeaning::Trait, "diet=vegetarian", "suis * végétarien~"),
        (
            CueMeaning::Trait,
            "diet=vegan",
            "suis * végan~|végétalien~|vegan~",
        ),
        (
            CueMeaning::Trait,
            "allergy to",
            "suis * allergique à|aux|au {v}",
        ),
        (
            CueMeaning::Favourite,
            "",
            "mon|ma|mes|notre {a} préféré|préférée|préférés|préférées|favori|favorite est|sont|c'est {v}; \
            le|la {a} préféré|préférée de {s} est {v}",
        ),
        (
            CueMeaning::Dislike,
            "",
            "je n'aime pas|plus {v}; {s} n'aime pas|plus {v}; je déteste {v}; {s} déteste {v}; je ne_supporte pas|plus {v}; \
            j'ai_horreur_de|j'ai_horreur_du {v}; je ne_mange|ne_bois pas|plus de {v}",
        ),
        (
            CueMeaning::Decide,
            "",
            "décidé; décide|décidons de; décida|décidèrent; convenu; opté|optons; choisi; retenu; tranché; d'un_commun_accord; mis d'accord; \
            ^ décision * :|prise|concernant|sur|de; ^ on|nous passe|passons|adoptons|abandonnons|remplaçons|basculons|migrons|annulons|adaptons|ajustons|intégrons; \
            ^ je passe|adopte|abandonne|remplace|bascule; ^ j'adopte|adoption|adoptons|adopte|passage|bascule|basculement|abandon|fini|intégration|ajustement; \
            désormais|dorénavant|à_l'avenir|à_partir_de_maintenant; plus_de|plus_aucun * : ; c'est|est acté",
        ),
        (
            CueMeaning::Plan,
            "",
            "promis; promets|promettons; engagé|engagée|engage|engagés|engageons; m'engage|s'engage; je|j' vais|irai|ferai|enverrai|aurai|serai|rendrai|écrirai|\
            finirai|terminerai|partagerai|relirai|livrerai|préparerai|restructurerai|continuerai|donnerai|prendrai|commencerai; j'enverrai|j'irai|j'aurai|j'écrirai|j'essaierai; \
            je|nous|on vous|te|lui|le|la|les|leur|y ~rai|~rons|~ra; nous allons|irons|ferons|enverrons|aurons|devrons|~erons|~irons|~rons; on va|fera|ira|enverra; \
            ^ vais; prévois|prévoyons|compte|comptons|envisage|ai_l'intention|avons_l'intention de|d'|~er|~ir; \
            je|nous|on dois|devons|doit * avant|d'ici|pour; avons|ai jusqu'au|jusqu'à; confirmé que_je|ma_présence|que_j'y",
        ),
        (
            CueMeaning::Prefer,
            "",
            "je préfère {v} au|à_la|à_l'|aux|plutôt_que {a}; {s} préfère {v} au|à_la|à_l'|aux|plutôt_que {a}",
        ),
        (
            CueMeaning::Prefer,
            "",
            "préfère~; préfér~; plutôt que; aimerait|voudrait|souhaite|veut|exige|tient que|qu'|qu'on|à; \
            ne_veut pas; mieux que; favorise; penche|privilégie|opte pour|~",
        ),
        (
            CueMeaning::Opinion,
            "",
            "je pense|crois|trouve|estime|considère|juge; à_mon avis|sens; selon_moi|pour_moi; d'après_moi; mon avis|opinion|point_de_vue|sentiment|impression * :|est|sur|c'est; \
            je suis|reste sceptique|convaincu|convaincue|persuadé|persuadée; je_ne pense|crois|trouve pas; de_mon point",
        ),
        (
            CueMeaning::Like,
            "",
            "j'aime|j'adore * {v}; {s} aime|adore {v}; je raffole_de|suis_fan_de|suis_fan_du {v}; me plaît|plaisent",
        ),
        (
            CueMeaning::Property,
            "deadline",
            "date_limite|échéance|délai de|du|pour|des {s} est|expire|tombe|est_fixée|est_fixé * le|au {v}; \
            date_limite|échéance|délai est|expire|tombe|est_fixée|est_fixé * le|au {v}",
        ),
        (
            CueMeaning::Dated,
            "",
            "date_limite|échéance; sera|seront|aura|auront|commence|commencera|débute|débutera|se_termine|finira|arrive|arrivera|part|partira|va|vont|doit; \
            ~era|~eront|~ira|~iront; est|sont le|prévu|prévue|demain|à",
        ),
        (
            CueMeaning::Happened,
            "",
            "hier|avant-hier; j'ai|avons|a|ont|suis|sommes|est|sont ~é|~ée|~és|~u|~i|~is|fait|pris|vu|été; j'étais|était|étaient; fut",
        ),
        (
            CueMeaning::State,
            "",
            "^ fait|faits|confirmé|confirmée|confirmation|note|info|info_rapide|information * :|par|que|auprès|avec; ^ deux|trois faits; ^ selon|d'après",
        ),
        (
            CueMeaning::Weak,
            "property",
            "{a} de|du|de_la|de_l'|d' {s} est|sont|dure {v}",
        ),
        (
            CueMeaning::Weak,
            "",
            "est|sont|était|a|ont|coûte|mesure|pèse|dure|utilise|utilisent|contient|comprend|se_trouve|repose|appartient|compte|fonctionne|\
            nécessite|hiverne|passe|passent|vaut|atteint|dépasse|remontent|couvre|bloque|il_y_a|commencé|s'étend",
        ),
    ],
    calendar: CalendarWords {
        days: &[
            ("le lendemain|du lendemain", NO_DAY),
            ("après-demain", 2),
            ("avant-hier", -2),
            ("hier", -1),
            ("aujourd'hui|ce soir|ce matin|cet après-midi", 0),
            ("demain", 1),
        ],
        weekdays: [
            "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche",
        ],
        months: [
            "janvier",
            "février|fevrier",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août|aout",
            "septembre",
            "octobre",
            "novembre",
            "décembre|decembre",
        ],
        day_first: true,
        next: "prochain",
        last: "dernier|passé",
        stretches: &[
            (
                "fin de la semaine|fin de semaine|week-end|fin du sprint|fin de sprint",
                TimeStretch::WeekEnd,
            ),
            ("fin du mois|fin de mois", TimeStretch::MonthEnd),
            ("fin du trimestre|fin de trimestre", TimeStretch::QuarterEnd),
            ("fin de l'année|fin d'année", TimeStretch::YearEnd),
            ("semaine prochaine|prochaine semaine", TimeStretch::Week(1)),
            ("semaine dernière|semaine passée", TimeStretch::Week(-1)),
            ("cette semaine", TimeStretch::Week(0)),
            ("mois prochain", TimeStretch::Month(1)),
            ("mois dernier|mois passé", TimeStretch::Month(-1)),
            ("ce mois-ci", TimeStretch::Month(0)),
            ("année prochaine|an prochain", TimeStretch::Year(1)),
            ("année dernière|an dernier", TimeStretch::Year(-1)),
        ],
        future_words: ("dans|d'ici", ""),
        past_words: ("il y a", ""),
        units: ["jour", "semaine", "mois", "an|année"],
        numbers: &[
            "un|une", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix",
        ],
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{check, gives_nothing};
    use crate::language::Language::French;

    #[test]
    fn statements_of_french() {
        check(
            French,
            &[
                ("Bonjour, je m'appelle Odile.", "fact user|name|odile"),
                ("J'habite à Lyon depuis mai.", "fact user|residence|lyon"),
                ("Je n'habite plus à Lyon.", "fact user|residence|!lyon"),
                ("J'ai déménagé à Nantes.", "fact user|residence|nantes"),
                ("Ma sœur s'appelle Claire.", "fact user|sister|claire"),
                (
                    "Ma couleur préférée est le vert.",
                    "preference user|favourite couleur|vert",
                ),
                (
                    "Je n'aime pas le fenouil.",
                    "preference user|likes fenouil|!fenouil",
                ),
                ("Désormais, réponds en français.", "instruction"),
                ("Nous avons décidé de fermer le dépôt.", "decision"),
                (
                    "Je vous enverrai le rapport avant vendredi.",
                    "plan @2025-04-18",
                ),
                (
                    "La date limite de la demande est le 3 mai.",
                    "fact demande|deadline|3 mai @2025-05-03",
                ),
                ("Hier, j'ai vendu mon vélo.", "event @2025-04-14"),
                (
                    "Je pense que la nouvelle salle est trop bruyante.",
                    "preference",
                ),
                (
                    "Paul préfère le train à l'avion.",
                    "preference paul|prefers avion / train|train",
                ),
                ("Confirmé : le réservoir contient 40 litres.", "fact"),
            ],
        );
    }

    #[test]
    fn noise_of_french() {
        gives_nothing(
            French,
            &[
                "Comment vas-tu ?",
                "Bonjour !",
                "Merci beaucoup pour ton aide.",
                "C'est super !",
                "D'accord, compris.",
                "Si tu as le temps, appelle.",
                "Peux-tu vérifier ça ?",
                "Je ne sais pas.",
                "À bientôt !",
                "Bonne journée.",
            ],
        );
    }
}
