//! The words and cues of Chinese.

use super::calendar::{CalendarWords, TimeStretch};
use super::{CueMeaning, LanguageTables};

pub(super) static LANGUAGE: LanguageTables = LanguageTables {
    fillers: "老实说|说实话|其实|顺便说一下|顺便|对了|嗯|好的|你好|您好|大家好|早上好|谢谢|那么|刚刚|刚才|另外|不过",
    labels: "事实|确认|已确认|证实|文件概要|备忘|记录|注意|决定|我认为|我觉得|我想|老实说|更正",
    anaphors: "它|他|她|这|那|此|其|该|论点|理由|原因|因此|所以|届时|但这|说它|说这|严格的|他们|她们|它们",
    first_person: "我|我们|咱们|俺|本人",
    articles: "现在|已经|目前|的|一个|一名|一位|了|在|是|叫|还|也|都|就|今年|刚",
    stop_words: "了|，|但|因为|已经|工作|上班|而不是|胜过|多于|的时候|吧|呢|啊",
    negations: "不再|已经不|不在|不住|不是|不叫|没有|不",
    questions: "吗|呢|吧",
    conjunctions: "，|,|；|并且|而且",
    kinship: &[
        ("姐姐", "sister"),
        ("妹妹", "sister"),
        ("哥哥", "brother"),
        ("弟弟", "brother"),
        ("妈妈", "mother"),
        ("母亲", "mother"),
        ("爸爸", "father"),
        ("父亲", "father"),
        ("妻子", "spouse"),
        ("老婆", "spouse"),
        ("太太", "spouse"),
        ("丈夫", "spouse"),
        ("老公", "spouse"),
        ("女朋友", "partner"),
        ("男朋友", "partner"),
        ("女儿", "daughter"),
        ("儿子", "son"),
        ("狗", "dog"),
        ("猫", "cat"),
    ],
    rules: &[
        (
            CueMeaning::Noise,
            "",
            "^ 如果|假如|要是|要不要|能不能|可以帮|请问|也许|也许是|希望你|值得; ^ 谢谢|感谢|再见|晚安; 不知道; \
            ^ 我的意见|只是我的; 在|放在 我的清单; 了解 * 很有用",
        ),
        (
            CueMeaning::Instruct,
            "",
            "请 * 总是|一直|始终|永远|不要|别|务必|只用|都用; 从现在起|从今以后|以后|今后 * 请|你|不要|别|回答|用; \
            ^ 总是|永远|始终|务必|不要再|别再; 记住 * 我|你; 你|您 应该|必须|要 * 总是|始终|永远|不要; 请用 * 回答|回复",
        ),
        (CueMeaning::Instruct, "name to use", "叫我 {v}; 称呼我 {v}"),
        (
            CueMeaning::Trait,
            "kin",
            "我|我的|我们|我家 的| {k} 叫|的名字是|名叫 {v}",
        ),
        (
            CueMeaning::Trait,
            "name",
            "我叫|我的名字是|我的名字叫|我名叫 {v}",
        ),
        (
            CueMeaning::Trait,
            "birthday",
            "生日是|生日在 {v}; 我 * 出生于 {v}",
        ),
        (
            CueMeaning::Trait,
            "age",
            "我|我今年|今年 {v} 岁; {s} 今年 {v} 岁",
        ),
        (
            CueMeaning::Trait,
            "employer",
            "我|我现在|现在 在 {v} 工作|上班|任职; {s} 在 {v} 工作|上班|任职; 我 就职于|任职于|入职了|加入了 {v}; {s} 就职于|任职于|入职|加入了 {v}; \
            我 * 离开了|不在 {v} 工作|公司",
        ),
        (
            CueMeaning::Trait,
            "residence",
            "我 现在|已经|目前|一直| 不再|不|已经不| 住在|居住在|搬到了|搬到|搬去了|定居在|生活在 {v}; \
            {s} 现在|已经|目前| 住在|居住在|搬到了|搬到|搬去了|定居在 {v}; ^ 住在|搬到了|定居在 {v}; 我家在 {v}",
        ),
        (
            CueMeaning::Trait,
            "origin",
            "我 来自|出生在|是从 {v}; 我|我的 老家|家乡 在|是 {v}; {s} 来自 {v}; ^ 来自 {v}",
        ),
        (
            CueMeaning::Trait,
            "job",
            "我|我的职业 是 一名|一位|一个|名|位 {v}; 我的 职业|工作 是 {v}; 当上了|担任 {v}; {s} 是 一名|一位 {v}",
        ),
        (
            CueMeaning::Trait,
            "phone",
            "电话号码|手机号|电话|手机号码 是|为 {v}",
        ),
        (
            CueMeaning::Trait,
            "email",
            "邮箱|电子邮件地址|邮箱地址 是|为 {v}",
        ),
        (
            CueMeaning::Trait,
            "diet=vegetarian",
            "我 * 吃素|素食者|素食主义",
        ),
        (CueMeaning::Trait, "allergy to", "我 对 {v} 过敏"),
        (
            CueMeaning::Favourite,
            "",
            "我 最喜欢|最爱 的 {a} 是 {v}; {s} 最喜欢 的 {a} 是 {v}",
        ),
        (
            CueMeaning::Decide,
            "",
            "决定; 选择了; 选定; 商定; 达成一致; 达成共识; 一致同意; 敲定; 改用; 转向; 采用 * 方法|约定|方案|做法; 我自己也采用; \
            ^ 完全|我们将| 切换到|切换为|转为; 今后|从今以后|以后 将|会|都|只; 纳入我们; 不再 使用|采用|支持; 取消了; 放弃了",
        ),
        (
            CueMeaning::Plan,
            "",
            "承诺; 答应; 保证; 我|我们 * 将|会|打算|计划|准备|要去|得|必须 * {v}; ^ 将|会|打算|计划; 确认我|确认我们; 截止前; \
            我|我们 明天|后天|下周|下个月|今晚|周末",
        ),
        (
            CueMeaning::Dislike,
            "",
            "我 * 不喜欢|讨厌|不爱|受不了|不再喜欢 {v}; {s} 不喜欢|讨厌 {v}; 我 不吃|不喝 {v}",
        ),
        (
            CueMeaning::Prefer,
            "",
            "比起 {a} ， 我 更喜欢 {v}; {s} 更喜欢 {v} ，而不是|而不是|胜过|多于 {a}",
        ),
        (
            CueMeaning::Prefer,
            "",
            "更喜欢; 宁愿; 宁可; 倾向于; 偏好; 偏爱; 更愿意; 喜欢 * 而不是|胜过; {s} 希望 我|你|我们; 要求 我|我们",
        ),
        (
            CueMeaning::Opinion,
            "",
            "我 * 认为|觉得|相信|感觉|发现; 在我看来; 依我看; 我的 看法|观点|意见|解读|评价; 我 * 看法|怀疑|不看好|看好",
        ),
        (
            CueMeaning::Like,
            "",
            "我 * 喜欢|爱|热爱 {v}; {s} * 喜欢|热爱 {v}",
        ),
        (
            CueMeaning::Property,
            "deadline",
            "{s} 的 提交|最终|最后| 截止日期|截止时间|最后期限|期限 是|为|在 {v}; 截止日期|截止时间|最后期限 是|为|在 {v}",
        ),
        (
            CueMeaning::Dated,
            "",
            "将于|将在|将会|会在|预计|开始于|举行|截止|计划于",
        ),
        (
            CueMeaning::Happened,
            "",
            "昨天|前天|上周|上个月|去年|了|过; 于 * 出现|开始|完成|发布|结束",
        ),
        (
            CueMeaning::State,
            "",
            "^ 事实|确认|已确认|证实|已与|刚刚确认|文件概要|备忘|记录 * ：|:; 证实; 确认 ：|:; 有 两个|几个|一个 事实; 规格|规定|标准 * 为|是|要求",
        ),
        (CueMeaning::Weak, "property", "{s} 的 {a} 是|为 {v}"),
        (
            CueMeaning::Weak,
            "",
            "是; 为; 位于; 坐落; 使用; 采用; 有; 需要; 包括; 支持; 用于; 阻止; 只在; 共; 达到; 超过; 导致; 追溯; 属于; 成立; 价格",
        ),
    ],
    calendar: CalendarWords {
        days: &[
            ("大后天", 3),
            ("后天", 2),
            ("明天|明早|明晚|明日", 1),
            ("大前天", -3),
            ("前天", -2),
            ("昨天|昨晚|昨日", -1),
            ("今天|今晚|今早|今日", 0),
        ],
        weekdays: [
            "周一|星期一|礼拜一",
            "周二|星期二|礼拜二",
            "周三|星期三|礼拜三",
            "周四|星期四|礼拜四",
            "周五|星期五|礼拜五",
            "周六|星期六|礼拜六",
            "周日|星期日|星期天|周天|礼拜天",
        ],
        months: [
            "1月|一月",
            "2月|二月",
            "3月|三月",
            "4月|四月",
            "5月|五月",
            "6月|六月",
            "7月|七月",
            "8月|八月",
            "9月|九月",
            "10月|十月",
            "11月|十一月",
            "12月|十二月",
        ],
        day_first: false,
        next: "下|下个",
        last: "上|上个",
        stretches: &[
            ("周末|本周末|这周末|本周内|冲刺结束", TimeStretch::WeekEnd),
            ("月底|本月底|月末", TimeStretch::MonthEnd),
            ("季度末|季末", TimeStretch::QuarterEnd),
            ("年底|年末", TimeStretch::YearEnd),
            ("下周|下星期|下个星期|下礼拜", TimeStretch::Week(1)),
            ("上周|上星期|上个星期|上礼拜", TimeStretch::Week(-1)),
            ("本周|这周|这个星期", TimeStretch::Week(0)),
            ("下个月|下月", TimeStretch::Month(1)),
            ("上个月|上月", TimeStretch::Month(-1)),
            ("这个月|本月", TimeStretch::Month(0)),
            ("明年", TimeStretch::Year(1)),
            ("去年", TimeStretch::Year(-1)),
        ],
        future_words: ("", "后|之后|以后|内|之内"),
        past_words: ("", "前|之前|以前"),
        units: ["天|日", "周|星期|礼拜", "月", "年"],
        numbers: &[
            "一", "二|两", "三", "四", "五", "六", "七", "八", "九", "十",
        ],
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{check, gives_nothing};
    use crate::language::Language::Chinese;

    #[test]
    fn statements_of_chinese() {
        check(
            Chinese,
            &[
                ("你好，我叫林晓。", "fact user|name|林晓"),
                ("我住在北京。", "fact user|residence|北京"),
                ("我搬到了上海。", "fact user|residence|上海"),
                ("我不再住在北京了。", "fact user|residence|!北京"),
                ("我妹妹叫小丽。", "fact user|sister|小丽"),
                ("我在银河公司工作。", "fact user|employer|银河公司"),
                (
                    "我最喜欢的颜色是绿色。",
                    "preference user|favourite 颜色|绿色",
                ),
                ("我不喜欢香菜。", "preference user|likes 香菜|!香菜"),
                ("从现在起请用中文回答。", "instruction"),
                ("我们决定把仓库搬到郊区。", "decision"),
                ("我会在下周三把报告发给你。", "plan @2025-04-23"),
                ("我答应两周后交稿。", "plan @2025-04-29"),
                (
                    "申请的截止日期是 5 月 3 日。",
                    "fact 申请|deadline|5 月 3 日 @2025-05-03",
                ),
                ("昨天我买了一辆自行车。", "event @2025-04-14"),
                ("我认为新食堂太吵。", "preference"),
                (
                    "比起茶，我更喜欢咖啡。",
                    "preference user|prefers 咖啡 / 茶|咖啡",
                ),
                ("小周宁愿坐火车，而不是飞机。", "preference"),
                ("事实：水箱容量为 40 升。", "fact"),
            ],
        );
    }

    #[test]
    fn noise_of_chinese() {
        gives_nothing(
            Chinese,
            &[
                "你好吗？",
                "早上好！",
                "谢谢你的帮助！",
                "太好了！",
                "好的，明白。",
                "如果你有空，给我打电话。",
                "你能帮我看看吗",
                "不知道。",
                "回头见！",
                "哈哈哈。",
            ],
        );
    }
}
