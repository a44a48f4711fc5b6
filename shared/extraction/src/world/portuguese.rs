//! The words and cues of Portuguese.

use super::calendar::{CalendarWords, NO_DAY, TimeStretch};
use super::{CueMeaning, LanguageTables};

pub(super) static LANGUAGE: LanguageTables = LanguageTables {
    fillers: "sinceramente|honestamente|na verdade|aliás|bom|bem|então|ok|tá|sim|não,|olá|oi|bom dia|boa tarde|boa noite|obrigado|\
              obrigada|muito obrigado|a propósito|e|mas|acabei de confirmar|acabou de ser confirmado",
    labels: "fato|facto|fatos|confirmado|nota|nota rápida|nota para registro|decisão|informação|dado|correção",
    anaphors: "isso|isto|esse|essa|esses|essas|este|esta|aquilo|ele|ela|eles|elas|seu|sua|seus|suas|o que|assim|por isso|além disso|\
               também|o motivo|a razão|o raciocínio|o argumento|alguns|algumas|outros|ambos|diz",
    first_person: "eu|nós|a gente|me|mim|nos",
    articles: "o|a|os|as|um|uma|do|da|dos|das|de|no|na|em|meu|minha|meus|minhas|nosso|nossa|agora|já|muito",
    stop_words: "e|mas|ou|porque|pois|desde|com|agora|atualmente|há|quando|que|em vez|mais que|muito|também|hoje|para|a",
    negations: "não|nunca|já não|nenhum|nenhuma|tampouco",
    questions: "né|certo",
    conjunctions: " e |, ",
    kinship: &[
        ("irmã", "sister"),
        ("irmão", "brother"),
        ("mãe", "mother"),
        ("pai", "father"),
        ("esposa", "spouse"),
        ("mulher", "spouse"),
        ("esposo", "spouse"),
        ("marido", "spouse"),
        ("namorada", "partner"),
        ("namorado", "partner"),
        ("filha", "daughter"),
        ("filho", "son"),
        ("cachorra", "dog"),
        ("cachorro", "dog"),
        ("cadela", "dog"),
        ("cão", "dog"),
        ("gata", "cat"),
        ("gato", "cat"),
    ],
    rules: &[
        (
            CueMeaning::Noise,
            "",
            "^ se|talvez|tomara|poderia|pode|você_pode|podes|podemos|será_que|espero; não sei; não faço_ideia; nem ideia; \
            ^ é|só|apenas a_minha|minha opinião|impressão; na minha lista; ^ bom|é_bom|útil saber; vale_a_pena",
        ),
        (
            CueMeaning::Instruct,
            "",
            "por_favor * sempre|nunca|jamais|só|apenas|somente; sempre|nunca * por_favor; \
            a_partir_de_agora|de_agora_em_diante|daqui_em_diante|doravante * por_favor|responda|responde|escreva|use|usa|utilize|fale|me_chame; \
            ^ sempre|nunca responda|responde|escreva|use|usa|utilize|inclua|fale|me; ^ responda|escreva|use|utilize|fale * sempre|nunca|apenas|em; \
            você|tu deve|precisa|tem_que * sempre|nunca; lembre-se|lembra-te|lembre de|que; ^ não esqueça|use|escreva|responda; não_se_esqueça",
        ),
        (
            CueMeaning::Instruct,
            "name to use",
            "me_chame|me_chama|chame-me|chama-me de| {v}",
        ),
        (
            CueMeaning::Trait,
            "kin",
            "meu|minha|nosso|nossa {k} se_chama|chama-se {v}; o_nome_da_minha|o_nome_do_meu {k} é {v}",
        ),
        (
            CueMeaning::Trait,
            "name",
            "me_chamo|chamo-me {v}; meu nome é {v}; ^ sou o|a {v} $",
        ),
        (
            CueMeaning::Trait,
            "residence",
            "moro|moramos|vivo|vivemos|resido * em|no|na {v}; {s} mora|vive|reside * em|no|na {v}; me|nos mudei|mudamos para|pra {v}; \
            mudei-me para {v}; {s} se_mudou|mudou-se para {v}",
        ),
        (
            CueMeaning::Trait,
            "employer",
            "trabalho|trabalhamos * na|no|para_a|para_o|em {v}; {s} trabalha * na|no|para_a|em {v}; saí da|do|de {v}; \
            comecei_a_trabalhar|entrei|fui_contratado|fui_contratada na|no|pela|pelo {v}",
        ),
        (
            CueMeaning::Trait,
            "job",
            "trabalho|trabalhamos * como {v}; {s} trabalha * como {v}; minha profissão é {v}; fui promovido|promovida a|para {v}",
        ),
        (
            CueMeaning::Trait,
            "age",
            "tenho {v} anos; {s} tem {v} anos $",
        ),
        (
            CueMeaning::Trait,
            "birthday",
            "meu aniversário é|cai * em|no_dia|dia {v}; nasci em|no_dia {v} de; faço anos em|a {v}; o_aniversário_de|o_aniversário_da|o_aniversário_do {s} é em|no_dia|dia {v}",
        ),
        (
            CueMeaning::Trait,
            "origin",
            "sou|venho * de|do|da {v} $; nasci em|no|na {v}; sou natural de|do|da {v}; {s} é natural de|do|da {v}",
        ),
        (
            CueMeaning::Trait,
            "phone",
            "meu telefone|número|celular * é {v}",
        ),
        (CueMeaning::Trait, "email", "meu e-mail|email é {v}"),
        (CueMeaning::Trait, "diet=vegetarian", "sou * vegetarian~"),
        (CueMeaning::Trait, "diet=vegan", "sou * vegan~"),
        (
            CueMeaning::Trait,
            "allergy to",
            "sou * alérgico|alérgica a|ao|à {v}",
        ),
        (
            CueMeaning::Favourite,
            "",
            "meu|minha|meus|minhas {a} favorito|favorita|favoritos|favoritas|preferido|preferida|predileto é|são {v}; \
            o|a {a} favorito|favorita|preferido|preferida de|da|do {s} é {v}",
        ),
        (
            CueMeaning::Dislike,
            "",
            "não gosto|gostamos mais|nada|muito| de|do|da|dos|das {v}; {s} não gosta mais|| de|do|da|dos {v}; odeio|detesto {v}; {s} odeia|detesta {v}; \
            não suporto|aguento|como|bebo|tomo {v}",
        ),
        (
            CueMeaning::Decide,
            "",
            "decidi~; decidiu; decidimos; decidiram; combinamos; combinado; acordamos; concordamos; escolhemos; escolhi; escolheu; optamos; optei; optou; ficou_decidido|definido; \
            definimos; ^ decisão * :|tomada|sobre|de; ^ mudamos|mudança|passamos|migramos|adotamos|adoto|abandonamos|trocamos|cancelamos|ajustamos|incorporamos|vamos_adotar; \
            chega de; nada de; a_partir_de_agora|daqui_em_diante|de_agora_em_diante|doravante|no_futuro * só|não|vamos|todas|todos|usaremos|serão|será; \
            ^ adotando|adoção|incorporando|integrando|ajustando|mudando|transição|passando|vou_adotar",
        ),
        (
            CueMeaning::Plan,
            "",
            "promet~; prometi; prometeu; comprometi~; comprometo; comprometeu; compromet~; ^ vou|vamos; eu|nós|a_gente vou|vamos|vai; \
            * vou|vamos ~ar|~er|~ir|~or; ^ * enviarei|entregarei|farei|irei|terminarei|escreverei|revisarei|mandarei|compartilharei|prepararei|reestruturarei|atualizarei|continuarei|começarei|darei; \
            pretendo|planejo|pretendemos|planejamos|planeio ~ar|~er|~ir; tenho|temos|preciso|precisamos|devo|devemos * até|antes; temos|tenho até|prazo; \
            enviaremos|entregaremos|faremos|iremos|terminaremos|manteremos|começaremos|executaremos|voltaremos|teremos; confirmei que * estarei|vou|irei; confirmei presença",
        ),
        (
            CueMeaning::Prefer,
            "",
            "prefiro {v} ao|à|aos|às|em_vez_de|do_que {a}; {s} prefere {v} ao|à|aos|às|em_vez_de|do_que {a}",
        ),
        (
            CueMeaning::Prefer,
            "",
            "prefer~; prefir~; preferí~; em_vez_de|ao_invés_de * gosta|gosto; favorece|privilegia; {s} quer|deseja|exige|insiste|faz_questão * que|de_que; \
            gostaria que|de_que; não quer|quero|queremos que; inclina para|por; é|sou * favor|adepto|defensor|defensora de|da|do",
        ),
        (
            CueMeaning::Opinion,
            "",
            "acho|penso|creio|considero|acredito|julgo|sinto que; ^ acho|considero|acredito|penso; eu acho|considero|vejo; me_parece|parece-me; \
            na_minha opinião|visão|experiência; em_minha opinião; minha|a_minha opinião|visão|impressão|leitura|posição * :|é|sobre; a meu ver; ao meu ver; para_mim ,; \
            sou|estou|continuo cético|cética|convencido|convencida",
        ),
        (
            CueMeaning::Like,
            "",
            "gosto|gostamos muito| de|do|da|dos|das {v}; {s} gosta muito| de|do|da|dos|das {v}; adoro|amo {v}; {s} adora|ama {v}; sou * fã de|do|da {v}",
        ),
        (
            CueMeaning::Property,
            "deadline",
            "prazo|data_limite|prazo_final|prazo_de_entrega|prazo_de_envio de|do|da|para|dos|das {s} é|termina|vence|acaba|encerra|vai_até dia|em|no_dia|a| {v}; \
            prazo|data_limite|prazo_final é|termina|vence|acaba|encerra dia|em|no_dia|a| {v}",
        ),
        (
            CueMeaning::Dated,
            "",
            "prazo|data_limite; será|serão|começa|começará|inicia|termina|terminará|terá|chega|chegará|sai|viaja|vence|vai|vão; ~ará|~erá|~irá|~arão; é|são em|no|na|dia|amanhã",
        ),
        (
            CueMeaning::Happened,
            "",
            "ontem|anteontem; fui|fomos|fiz|fizemos|comprei|vendi|comecei|terminei|conheci|visitei|estive|tive|vi|perdi|ganhei; ~ou|~aram|~eram|~iram; foi|foram; ~ei em",
        ),
        (
            CueMeaning::State,
            "",
            "^ fato|facto|fatos|confirmado|confirmada|confirmação|nota|informação|dado|nota_rápida * :|por|pelo|pela|que|com|via; ^ dois|três fatos; ^ segundo|conforme|de_acordo",
        ),
        (
            CueMeaning::Weak,
            "property",
            "{a} de|do|da {s} é|são|dura {v}",
        ),
        (
            CueMeaning::Weak,
            "",
            "é|são|está|estão|era|foi|tem|têm|custa|mede|pesa|dura|usa|usam|utiliza|contém|inclui|fica|situa-se|assenta|pertence|há|funciona|requer|precisa|\
            hiberna|passa|começou|surgiram|vale|atinge|supera|remontam|abrange|bloqueia|bloqueando|leva",
        ),
    ],
    calendar: CalendarWords {
        days: &[
            ("de amanhã em diante", NO_DAY),
            ("depois de amanhã", 2),
            ("anteontem", -2),
            ("ontem", -1),
            ("hoje|esta noite", 0),
            ("amanhã", 1),
        ],
        weekdays: [
            "segunda-feira|segunda",
            "terça-feira|terça",
            "quarta-feira|quarta",
            "quinta-feira|quinta",
            "sexta-feira|sexta",
            "sábado",
            "domingo",
        ],
        months: [
            "janeiro",
            "fevereiro",
            "março",
            "abril",
            "maio",
            "junho",
            "julho",
            "agosto",
            "setembro",
            "outubro",
            "novembro",
            "dezembro",
        ],
        day_first: true,
        next: "próxima|próximo|que vem",
        last: "passada|passado|última|último",
        stretches: &[
            (
                "fim de semana|fim da semana|final da semana|final de semana|fim do sprint|final do sprint",
                TimeStretch::WeekEnd,
            ),
            ("fim do mês|final do mês|fim de mês", TimeStretch::MonthEnd),
            (
                "fim do trimestre|final do trimestre",
                TimeStretch::QuarterEnd,
            ),
            ("fim do ano|final do ano", TimeStretch::YearEnd),
            ("próxima semana|semana que vem", TimeStretch::Week(1)),
            ("semana passada", TimeStretch::Week(-1)),
            ("esta semana|nesta semana", TimeStretch::Week(0)),
            ("próximo mês|mês que vem", TimeStretch::Month(1)),
            ("mês passado", TimeStretch::Month(-1)),
            ("este mês|neste mês", TimeStretch::Month(0)),
            ("próximo ano|ano que vem", TimeStretch::Year(1)),
            ("ano passado", TimeStretch::Year(-1)),
        ],
        future_words: ("em|daqui a|dentro de", ""),
        past_words: ("há|faz", "atrás"),
        units: ["dia", "semana", "mês|meses", "ano"],
        numbers: &[
            "um|uma",
            "dois|duas",
            "três",
            "quatro",
            "cinco",
            "seis",
            "sete",
            "oito",
            "nove",
            "dez",
        ],
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{check, gives_nothing};
    use crate::language::Language::Portuguese;

    #[test]
    fn statements_of_portuguese() {
        check(
            Portuguese,
            &[
                ("Olá, meu nome é Beatriz.", "fact user|name|beatriz"),
                ("Moro em Recife desde maio.", "fact user|residence|recife"),
                ("Não moro mais em Recife.", "fact user|residence|!recife"),
                ("Eu me mudei para Curitiba.", "fact user|residence|curitiba"),
                ("Minha irmã se chama Lúcia.", "fact user|sister|lúcia"),
                (
                    "Minha cor favorita é o verde.",
                    "preference user|favourite cor|verde",
                ),
                (
                    "Eu não gosto de coentro.",
                    "preference user|likes coentro|!coentro",
                ),
                ("A partir de agora responda em português.", "instruction"),
                ("Decidimos fechar o depósito.", "decision"),
                (
                    "Vou enviar o relatório até sexta-feira.",
                    "plan @2025-04-18",
                ),
                (
                    "O prazo da inscrição é 3 de maio.",
                    "fact inscrição|deadline|3 de maio @2025-05-03",
                ),
                ("Ontem vendi minha bicicleta.", "event @2025-04-14"),
                ("Acho que a nova sala é barulhenta demais.", "preference"),
                (
                    "Caio prefere o trem ao avião.",
                    "preference caio|prefers avião / trem|trem",
                ),
                ("Confirmado: o tanque tem 40 litros.", "fact"),
            ],
        );
    }

    #[test]
    fn noise_of_portuguese() {
        gives_nothing(
            Portuguese,
            &[
                "Como você está?",
                "Bom dia!",
                "Muito obrigado pela ajuda.",
                "Que legal!",
                "Certo, entendi.",
                "Se você tiver tempo, me ligue.",
                "Você pode verificar isso?",
                "Não sei.",
                "Até logo!",
                "Isso é ótimo.",
            ],
        );
    }
}
