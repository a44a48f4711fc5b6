//! The words and cues of Spanish.

use super::calendar::{CalendarWords, NO_DAY, TimeStretch};
use super::{CueMeaning, LanguageTables};

pub(super) static LANGUAGE: LanguageTables = LanguageTables {
    fillers: "sinceramente|honestamente|la verdad|por cierto|bueno|pues|vale|ok|sí|no,|hola|buenos días|buenas tardes|buenas noches|\
              gracias|muchas gracias|en realidad|de hecho|como decía|para que conste|y|pero|acabo de confirmar",
    labels: "hecho|dato|dato rápido|confirmado|nota|nota rápida|decisión|en mi opinión|creo que|pienso que|corrección|\
             sinceramente|información",
    anaphors: "esto|eso|este|esta|estos|estas|ese|esa|él|ella|ellos|ellas|su|sus|lo|la cual|lo cual|así|por eso|además|también|\
               el motivo|la razón|su razón|su razonamiento|le|les|algunos|otros|ambos|dice",
    first_person: "yo|nosotros|nosotras|me|nos|mí",
    articles: "el|la|los|las|un|una|unos|unas|del|de la|de los|de|mi|mis|nuestro|nuestra|en|a|ahora|ya|muy|mucho",
    stop_words: "y|e|pero|o|porque|desde|con|ya|ahora|actualmente|desde hace|hace|cuando|que|sino|antes que|más que|mucho|también|hoy|para",
    negations: "ya no|no|nunca|ningún|ninguna|tampoco",
    questions: "verdad",
    conjunctions: " y |, ",
    kinship: &[
        ("hermana", "sister"),
        ("hermano", "brother"),
        ("madre", "mother"),
        ("mamá", "mother"),
        ("padre", "father"),
        ("papá", "father"),
        ("esposa", "spouse"),
        ("esposo", "spouse"),
        ("mujer", "spouse"),
        ("marido", "spouse"),
        ("novia", "partner"),
        ("novio", "partner"),
        ("pareja", "partner"),
        ("hija", "daughter"),
        ("hijo", "son"),
        ("perra", "dog"),
        ("perro", "dog"),
        ("gata", "cat"),
        ("gato", "cat"),
    ],
    rules: &[
        (
            CueMeaning::Noise,
            "",
            "^ si|quizás|quizá|tal_vez|ojalá|podrías|puedes|podemos|podría|me_pregunto|espero; no sé; ni idea; \
            ^ es|solo|sólo mi opinión|impresión; a|en mi lista; ^ es_bueno|bueno|útil saber|saberlo; vale la_pena",
        ),
        (
            CueMeaning::Instruct,
            "",
            "por_favor * siempre|nunca|jamás|solo|sólo; siempre|nunca * por_favor; \
            a_partir_de_ahora|de_ahora_en_adelante|en_adelante|desde_ahora * por_favor|responde|escribe|usa|utiliza|habla|contesta|llámame; \
            ^ siempre|nunca responde|escribe|usa|utiliza|uses|escribas|respondas|incluye|contesta; ^ responde|escribe|usa|utiliza|contesta|habla * siempre|nunca|solo|en; \
            debes|tienes_que|deberías * siempre|nunca; recuerda que|siempre; ^ no olvides|uses|escribas; trátame|tutéame",
        ),
        (CueMeaning::Instruct, "name to use", "llámame {v}"),
        (
            CueMeaning::Trait,
            "kin",
            "mi|nuestro|nuestra {k} se_llama {v}; mi {k} es|era {v} $; el_nombre_de_mi {k} es {v}",
        ),
        (
            CueMeaning::Trait,
            "name",
            "me llamo {v}; mi nombre es {v}; ^ soy {v} $",
        ),
        (
            CueMeaning::Trait,
            "residence",
            "vivo|vivimos|resido * en {v}; {s} vive|reside * en {v}; me|nos|se he|hemos mudado|trasladado a {v}; \
            me mudé|trasladé a {v}; {s} se mudó|trasladó|ha_mudado a {v}; {s} se ha mudado|trasladado a {v}",
        ),
        (
            CueMeaning::Trait,
            "employer",
            "trabajo|trabajamos * en|para {v}; {s} trabaja * en|para {v}; dejé|he_dejado mi_trabajo_en|mi_empleo_en {v}; \
            empiezo|empecé|entré a_trabajar_en|en {v}",
        ),
        (
            CueMeaning::Trait,
            "job",
            "trabajo|trabajamos * como|de {v}; {s} trabaja * como|de {v}; mi profesión|trabajo|oficio es {v}; me_ascendieron|ascendido a {v}",
        ),
        (
            CueMeaning::Trait,
            "age",
            "tengo {v} años; {s} tiene {v} años $",
        ),
        (
            CueMeaning::Trait,
            "birthday",
            "mi cumpleaños es * el|en {v}; nací el {v}; {s} cumple_años el {v}; el_cumpleaños_de {s} es el {v}",
        ),
        (
            CueMeaning::Trait,
            "origin",
            "soy|vengo * de {v} $; nací en {v}; soy originario|originaria de {v}; {s} es originario|originaria de {v}",
        ),
        (CueMeaning::Trait, "phone", "mi|el teléfono|número * es {v}"),
        (
            CueMeaning::Trait,
            "email",
            "mi correo|email|correo_electrónico es {v}",
        ),
        (CueMeaning::Trait, "diet=vegetarian", "soy * vegetarian~"),
        (CueMeaning::Trait, "diet=vegan", "soy * vegan~"),
        (
            CueMeaning::Trait,
            "allergy to",
            "soy * alérgico|alérgica a {v}",
        ),
        (
            CueMeaning::Favourite,
            "",
            "mi|mis|nuestro {a} favorito|favorita|favoritos|favoritas|preferido|preferida es|son {v}",
        ),
        (
            CueMeaning::Favourite,
            "",
            "el|la {a} favorito|favorita|preferido|preferida de {s} es|son {v}",
        ),
        (
            CueMeaning::Dislike,
            "",
            "no me gusta|gustan|gustaba {v}; me_disgusta|detesto|odio {v}; ya_no me gusta|gustan {v}; a {s} no_le gusta|gustan {v}; \
            {s} odia|detesta {v}; no soporto|aguanto {v}; no como|bebo|tomo {v}",
        ),
        (
            CueMeaning::Decide,
            "",
            "decidi~; decidí; decidió; decidimos; acordamos; acordado; acordaron; hemos_elegido|elegimos|elegí|eligió|escogimos|optamos|opté|optó; \
            ^ decisión * :|tomada|sobre|de; nos_quedamos con; ^ cambiamos|cambio|pasamos|migramos|adoptamos|adopto|dejamos|cancelamos|ajustamos|incorporamos a|de|por|la|el|los|las|esta|este; \
            se ha|han acordado|decidido|elegido|optado; no_más|nada_de|se_acabó; a_partir_de_ahora|en_adelante|de_ahora_en_adelante * solo|no|se|todas|todos|usaremos|vamos; \
            ^ adoptando|incorporando|integrando|ajustando|cambiando|cambio|transición",
        ),
        (
            CueMeaning::Plan,
            "",
            "prometi~; prometí; prometió; prometo; compromet~; comprometí; comprometió; me_encargo|me_encargaré; \
            voy|vamos a; ^ * entregaré|enviaré|haré|iré|terminaré|escribiré|revisaré|mandaré|llamaré|daré|compartiré|prepararé|reestructuraré|actualizaré|seguiré|empezaré|visitaré|viajaré; \
            ^ lo|la|le|les|se ~aré|~eré|~iré; pienso|planeo|tengo_previsto|tengo_pensado|pretendo|planeamos ~ar|~er|~ir; \
            tengo_que|tenemos_que|debo|debemos * antes|para|hasta; tenemos|tengo hasta|de_plazo; tengo|tenemos|tendré * listo|lista * para|antes; \
            * entregaremos|enviaremos|haremos|iremos|terminaremos|mantendremos|empezaremos|ejecutaremos|volveremos|tendremos|usaremos; confirmé|confirmado que * estaré|iré",
        ),
        (
            CueMeaning::Prefer,
            "",
            "prefiero {v} al|a_la|a_los|a_las|antes_que|en_lugar_de|en_vez_de {a}; {s} prefiere {v} al|a_la|a_los|a_las|antes_que|en_lugar_de|en_vez_de {a}",
        ),
        (
            CueMeaning::Prefer,
            "",
            "prefer~; prefier~; preferí~; antes que; en_lugar_de|en_vez_de * gusta; favorece; \
            {s} quiere|desea|exige|insiste * que; no quiere|quiero|queremos que; le_gustaría|les_gustaría que; es|soy * partidario|partidaria de; inclina por|hacia",
        ),
        (
            CueMeaning::Opinion,
            "",
            "creo|pienso|opino|considero|siento que; me_parece|me_parecen; en_mi opinión|experiencia; mi opinión|visión|impresión|postura|punto_de_vista * :|es|sobre; \
            ^ creo|opino|considero|encuentro; soy|sigo escéptico|escéptica; a_mi juicio|parecer|modo_de_ver; desde mi; estoy convencido|convencida|segur~",
        ),
        (
            CueMeaning::Like,
            "",
            "me gusta|gustan|encanta|encantan * {v}; a {s} le gusta|gustan|encanta|encantan {v}; adoro|amo {v}; {s} adora|ama {v}; soy * fan de {v}",
        ),
        (
            CueMeaning::Property,
            "deadline",
            "fecha_límite|plazo|fecha_de_entrega de|del|para {s} es|vence|termina|acaba|finaliza el|en {v}; \
            fecha_límite|plazo es|vence|termina|acaba|finaliza el|en {v}",
        ),
        (
            CueMeaning::Dated,
            "",
            "fecha_límite|plazo; será|serán|empieza|empezará|comienza|comenzará|termina|terminará|tendrá|llega|llegará|sale|viaja|vence|va_a|van_a; \
            ~ará|~erá|~irá|~arán|~erán; es|son el|este|mañana",
        ),
        (
            CueMeaning::Happened,
            "",
            "ayer|anteayer|anoche; fui|fuimos|hice|hicimos|compré|vendí|empecé|terminé|conocí|visité|estuve|tuve|vi|perdí|gané; he|hemos|ha|han ~ado|~ido; \
            ~ó|~aron|~ieron; fue|fueron",
        ),
        (
            CueMeaning::State,
            "",
            "^ hecho|hechos|dato|datos|confirmado|confirmada|confirmación|nota|información|dato_rápido * :|de|por|que|con|mediante; ^ dos|tres hechos|datos; ^ según",
        ),
        (
            CueMeaning::Weak,
            "property",
            "{a} de|del|de_la {s} es|son|dura {v}",
        ),
        (
            CueMeaning::Weak,
            "",
            "es|son|está|están|era|fue|tiene|tienen|cuesta|mide|pesa|dura|usa|usan|utiliza|utilizan|contiene|incluye|se_encuentra|se_asienta|pertenece|hay|\
            lleva|funciona|requiere|necesita|hiberna|pasa|empezó|comenzó|surgieron|vale|alcanza|supera|remontan|abarca",
        ),
    ],
    calendar: CalendarWords {
        days: &[
            (
                "por la mañana|de la mañana|esta mañana|las mañanas|cada mañana",
                NO_DAY,
            ),
            ("pasado mañana", 2),
            ("anteayer", -2),
            ("ayer|anoche", -1),
            ("hoy|esta noche|esta tarde", 0),
            ("mañana", 1),
        ],
        weekdays: [
            "lunes",
            "martes",
            "miércoles|miercoles",
            "jueves",
            "viernes",
            "sábado|sabado",
            "domingo",
        ],
        months: [
            "enero",
            "febrero",
            "marzo",
            "abril",
            "mayo",
            "junio",
            "julio",
            "agosto",
            "septiembre|setiembre",
            "octubre",
            "noviembre",
            "diciembre",
        ],
        day_first: true,
        next: "próximo|proximo|que viene",
        last: "pasado|último",
        stretches: &[
            (
                "fin de semana|final de la semana|final de semana|fin del sprint|final del sprint",
                TimeStretch::WeekEnd,
            ),
            (
                "fin de mes|final de mes|finales de mes|fines de mes",
                TimeStretch::MonthEnd,
            ),
            (
                "fin de trimestre|final del trimestre",
                TimeStretch::QuarterEnd,
            ),
            (
                "fin de año|final del año|finales de año",
                TimeStretch::YearEnd,
            ),
            (
                "próxima semana|semana que viene|semana próxima",
                TimeStretch::Week(1),
            ),
            ("semana pasada", TimeStretch::Week(-1)),
            ("esta semana", TimeStretch::Week(0)),
            ("próximo mes|mes que viene", TimeStretch::Month(1)),
            ("mes pasado", TimeStretch::Month(-1)),
            ("este mes", TimeStretch::Month(0)),
            ("próximo año|año que viene", TimeStretch::Year(1)),
            ("año pasado", TimeStretch::Year(-1)),
        ],
        future_words: ("en|dentro de", ""),
        past_words: ("hace", "atrás"),
        units: ["día", "semana", "mes", "año"],
        numbers: &[
            "un|una", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez",
        ],
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{check, gives_nothing};
    use crate::language::Language::Spanish;

    #[test]
    fn statements_of_spanish() {
        check(
            Spanish,
            &[
                ("Hola, me llamo Inés.", "fact user|name|inés"),
                ("Vivo en Sevilla desde mayo.", "fact user|residence|sevilla"),
                ("Ya no vivo en Sevilla.", "fact user|residence|!sevilla"),
                ("Me he mudado a Bilbao.", "fact user|residence|bilbao"),
                ("Mi hermana se llama Clara.", "fact user|sister|clara"),
                (
                    "Mi color favorito es el verde.",
                    "preference user|favourite color|verde",
                ),
                (
                    "No me gusta el cilantro.",
                    "preference user|likes cilantro|!cilantro",
                ),
                ("A partir de ahora responde en español.", "instruction"),
                ("Hemos decidido cerrar el almacén.", "decision"),
                (
                    "Te enviaré el informe antes del viernes.",
                    "plan @2025-04-18",
                ),
                (
                    "La fecha límite de la solicitud es el 3 de mayo.",
                    "fact solicitud|deadline|3 de mayo @2025-05-03",
                ),
                ("Ayer vendí mi bicicleta.", "event @2025-04-14"),
                ("Creo que la nueva sala es demasiado ruidosa.", "preference"),
                (
                    "Marta prefiere los trenes a los aviones.",
                    "preference marta|prefers aviones / trenes|trenes",
                ),
                ("Confirmado: el depósito tiene 40 litros.", "fact"),
            ],
        );
    }

    #[test]
    fn noise_of_spanish() {
        gives_nothing(
            Spanish,
            &[
                "¿Cómo estás?",
                "¡Buenos días!",
                "Muchas gracias por tu ayuda.",
                "¡Qué bien!",
                "Vale, entendido.",
                "Si tienes tiempo, llámame.",
                "¿Puedes revisarlo?",
                "No sé.",
                "Hasta luego.",
                "Eso está muy bien.",
            ],
        );
    }
}
