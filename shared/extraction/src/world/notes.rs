//! Notes of people and assistants in every language: which ones count and which do not.

use super::tests::kinds;
use crate::language::Language::{self, *};

/// Sentences with the kind of their statement, which is empty if they have none.
type Notes = &'static [(&'static str, &'static str)];

const NOTES: [(Language, Notes); 8] = [
    (
        Spanish,
        &[
            (
                "He decidido que vamos a pasar de FTP a SFTP para las copias nocturnas.",
                "decision",
            ),
            (
                "Optamos por azulejos grises en lugar de blancos.",
                "decision",
            ),
            (
                "Decisión sobre el turno: dos personas por la noche.",
                "decision",
            ),
            (
                "Nuria prefiere recibir las facturas por correo y no en papel.",
                "preference",
            ),
            (
                "Olga quiere que le avise con un día de antelación.",
                "preference",
            ),
            (
                "Prometí a Nuria que le enviaría el plano antes del jueves.",
                "plan",
            ),
            (
                "Me comprometo a reparar la bomba antes de fin de mes.",
                "plan",
            ),
            ("Revisaré el contrato mañana.", "plan"),
            (
                "Sinceramente, me parece que el nuevo horario no funciona.",
                "preference",
            ),
            (
                "Mi opinión sobre el puente: es bonito, pero poco práctico.",
                "preference",
            ),
            (
                "El periodo de prueba de Lumen Textil es de 45 días.",
                "fact",
            ),
            ("Dato: el pozo tiene 12 metros de profundidad.", "fact"),
            (
                "El equipo de Valdora usa PostgreSQL 16 para todos los informes.",
                "fact",
            ),
            ("Eso le da más tiempo para pensar.", ""),
            ("Muy justo, pero factible.", ""),
            ("Su argumento es sencillo.", ""),
        ],
    ),
    (
        French,
        &[
            (
                "J'ai décidé de passer de FTP à SFTP pour les sauvegardes de nuit.",
                "decision",
            ),
            (
                "Nous avons opté pour du carrelage gris plutôt que blanc.",
                "decision",
            ),
            (
                "Décision concernant l'équipe : deux personnes la nuit.",
                "decision",
            ),
            (
                "Nadège préfère recevoir les factures par courriel.",
                "preference",
            ),
            (
                "Olga souhaite que je la prévienne un jour avant.",
                "preference",
            ),
            (
                "J'ai promis à Nadège de lui envoyer le plan avant jeudi.",
                "plan",
            ),
            (
                "Je m'engage à réparer la pompe avant la fin du mois.",
                "plan",
            ),
            ("Je relirai le contrat demain.", "plan"),
            (
                "Honnêtement, je trouve que le nouvel horaire ne marche pas.",
                "preference",
            ),
            (
                "Mon avis sur le pont : il est beau, mais peu pratique.",
                "preference",
            ),
            (
                "La période d'essai de Lumen Textile est de 45 jours.",
                "fact",
            ),
            ("Fait : le puits a 12 mètres de profondeur.", "fact"),
            (
                "L'équipe de Valdora utilise PostgreSQL 16 pour tous les rapports.",
                "fact",
            ),
            ("Cela lui laisse plus de temps pour réfléchir.", ""),
            ("Serré, mais faisable.", ""),
            ("Son raisonnement est simple.", ""),
        ],
    ),
    (
        Portuguese,
        &[
            (
                "Decidi que vamos mudar de FTP para SFTP nas cópias noturnas.",
                "decision",
            ),
            ("Optamos por azulejos cinza em vez de brancos.", "decision"),
            ("Decisão sobre o turno: duas pessoas à noite.", "decision"),
            ("Núbia prefere receber as faturas por e-mail.", "preference"),
            (
                "Olga quer que eu avise com um dia de antecedência.",
                "preference",
            ),
            (
                "Prometi à Núbia que enviaria a planta até quinta-feira.",
                "plan",
            ),
            (
                "Comprometo-me a consertar a bomba antes do fim do mês.",
                "plan",
            ),
            ("Vou revisar o contrato amanhã.", "plan"),
            (
                "Sinceramente, acho que o novo horário não funciona.",
                "preference",
            ),
            (
                "Minha opinião sobre a ponte: é bonita, mas pouco prática.",
                "preference",
            ),
            ("O período de teste da Lumen Têxtil é de 45 dias.", "fact"),
            ("Fato: o poço tem 12 metros de profundidade.", "fact"),
            (
                "A equipe da Valdora usa PostgreSQL 16 em todos os relatórios.",
                "fact",
            ),
            ("Isso lhe dá mais tempo para pensar.", ""),
            ("Apertado, mas viável.", ""),
            ("Seu raciocínio é simples.", ""),
        ],
    ),
    (
        Italian,
        &[
            (
                "Ho deciso che passeremo da FTP a SFTP per i backup notturni.",
                "decision",
            ),
            (
                "Abbiamo optato per piastrelle grigie invece che bianche.",
                "decision",
            ),
            ("Decisione sul turno: due persone di notte.", "decision"),
            (
                "Nives preferisce ricevere le fatture per e-mail.",
                "preference",
            ),
            ("Olga vuole che la avvisi un giorno prima.", "preference"),
            (
                "Ho promesso a Nives di mandarle la pianta entro giovedì.",
                "plan",
            ),
            ("Mi impegno a riparare la pompa entro fine mese.", "plan"),
            ("Rivedrò il contratto domani.", "plan"),
            (
                "Onestamente, trovo che il nuovo orario non funzioni.",
                "preference",
            ),
            (
                "La mia opinione sul ponte: è bello, ma poco pratico.",
                "preference",
            ),
            (
                "Il periodo di prova di Lumen Tessuti è di 45 giorni.",
                "fact",
            ),
            ("Fatto: il pozzo è profondo 12 metri.", "fact"),
            (
                "Il team di Valdora usa PostgreSQL 16 per tutti i rapporti.",
                "fact",
            ),
            ("Questo le dà più tempo per pensare.", ""),
            ("Stretto, ma fattibile.", ""),
            ("Il suo ragionamento è semplice.", ""),
        ],
    ),
    (
        Russian,
        &[
            (
                "Я решил, что мы перейдём с FTP на SFTP для ночных копий.",
                "decision",
            ),
            ("Мы выбрали серую плитку вместо белой.", "decision"),
            ("Решение по смене: ночью два человека.", "decision"),
            ("Нина предпочитает получать счета по почте.", "preference"),
            (
                "Ольга хочет, чтобы я предупреждал её за день.",
                "preference",
            ),
            ("Я пообещал Нине прислать план до четверга.", "plan"),
            ("Обязуюсь починить насос до конца месяца.", "plan"),
            ("Я проверю договор завтра.", "plan"),
            (
                "Честно говоря, я считаю, что новое расписание не работает.",
                "preference",
            ),
            (
                "Моё мнение о мосте: он красивый, но неудобный.",
                "preference",
            ),
            (
                "Испытательный срок в «Люмен Текстиль» составляет 45 дней.",
                "fact",
            ),
            ("Факт: глубина колодца 12 метров.", "fact"),
            (
                "Команда Valdora использует PostgreSQL 16 для всех отчётов.",
                "fact",
            ),
            ("Это даёт ей больше времени подумать.", ""),
            ("Впритык, но выполнимо.", ""),
            ("Её довод простой.", ""),
        ],
    ),
    (
        Hindi,
        &[
            (
                "मैंने तय किया है कि रात के बैकअप के लिए हम FTP से SFTP पर जाएंगे।",
                "decision",
            ),
            ("हमने सफ़ेद की बजाय स्लेटी टाइलें चुनीं।", "decision"),
            ("शिफ्ट पर निर्णय: रात में दो लोग।", "decision"),
            ("नीना बिल ईमेल से पाना पसंद करती हैं।", "preference"),
            ("ओल्गा चाहती हैं कि मैं उन्हें एक दिन पहले बता दूँ।", "preference"),
            ("मैंने नीना से गुरुवार तक नक्शा भेजने का वादा किया है।", "plan"),
            ("मैं महीने के अंत तक पंप ठीक करने के लिए प्रतिबद्ध हूँ।", "plan"),
            ("मैं कल अनुबंध की जाँच करूँगा।", "plan"),
            (
                "सच कहूँ तो, मुझे लगता है कि नई समय-सारणी काम नहीं करती।",
                "preference",
            ),
            ("पुल के बारे में मेरी राय: सुंदर है, पर उपयोगी नहीं।", "preference"),
            ("लुमेन टेक्सटाइल की परीक्षण अवधि 45 दिन है।", "fact"),
            ("तथ्य: कुआँ 12 मीटर गहरा है।", "fact"),
            (
                "Valdora की टीम सभी रिपोर्टों के लिए PostgreSQL 16 का उपयोग करती है।",
                "fact",
            ),
            ("इससे उन्हें सोचने का और समय मिलता है।", ""),
            ("मुश्किल, पर संभव।", ""),
            ("उनका तर्क सीधा है।", ""),
        ],
    ),
    (
        Japanese,
        &[
            (
                "夜間バックアップをFTPからSFTPに切り替えることに決めました。",
                "decision",
            ),
            ("白ではなく灰色のタイルを選びました。", "decision"),
            ("シフトに関する決定：夜は二人。", "decision"),
            ("ニナは請求書をメールで受け取る方を好みます。", "preference"),
            (
                "オルガは一日前に知らせてほしいと言っています。",
                "preference",
            ),
            ("木曜日までに図面を送るとニナに約束しました。", "plan"),
            ("月末までにポンプを直すことを約束します。", "plan"),
            ("明日、契約書を確認します。", "plan"),
            (
                "正直に言うと、新しい時間割はうまくいっていないと思います。",
                "preference",
            ),
            (
                "橋についての私の意見：美しいが、実用的ではない。",
                "preference",
            ),
            ("ルーメン社の試用期間は45日です。", "fact"),
            ("事実：井戸の深さは12メートル。", "fact"),
            (
                "Valdoraのチームはすべての報告にPostgreSQL 16を使用しています。",
                "fact",
            ),
            ("これで彼女には考える時間ができます。", ""),
            ("厳しいが、可能。", ""),
            ("彼女の理由は単純です。", ""),
        ],
    ),
    (
        Korean,
        &[
            (
                "야간 백업을 FTP에서 SFTP로 전환하기로 결정했습니다.",
                "decision",
            ),
            ("흰색 대신 회색 타일을 선택했습니다.", "decision"),
            ("교대에 대한 결정: 밤에는 두 사람.", "decision"),
            (
                "니나는 청구서를 이메일로 받는 것을 선호합니다.",
                "preference",
            ),
            ("올가는 하루 전에 알려 주기를 원합니다.", "preference"),
            (
                "니나에게 목요일까지 도면을 보내겠다고 약속했습니다.",
                "plan",
            ),
            ("월말까지 펌프를 고치겠습니다.", "plan"),
            ("내일 계약서를 확인할 예정입니다.", "plan"),
            ("솔직히 새 시간표는 효과가 없다고 생각합니다.", "preference"),
            (
                "다리에 대한 제 의견: 예쁘지만 실용적이지 않다.",
                "preference",
            ),
            ("루멘 섬유의 시험 기간은 45일입니다.", "fact"),
            ("사실: 우물의 깊이는 12미터다.", "fact"),
            (
                "Valdora 팀은 모든 보고서에 PostgreSQL 16을 사용합니다.",
                "fact",
            ),
            ("이는 그녀에게 생각할 시간을 준다.", ""),
            ("빠듯하지만 가능하다.", ""),
            ("그녀의 이유는 단순하다.", ""),
        ],
    ),
];

#[test]
fn notes_are_of_the_kind_that_they_are() {
    let mut wrong = String::new();
    for (language, notes) in NOTES {
        for (text, expected) in notes {
            let found = kinds(language, text);
            if found != *expected {
                wrong +=
                    &format!("{language:?}: {text}\n  expected {expected:?}, found {found:?}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
