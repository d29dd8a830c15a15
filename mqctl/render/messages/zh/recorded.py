"""Phrases about recordings, in Chinese."""

PHRASES = {
    "recorded_since": "录制于 {place}，始于 {time}（该时刻之前 {span}）",
    "recorded_gap": "{since} 至 {until}（{span}）没有录制：{why}",
    "recorded_gap_why": "{why}（{reason}）",
    "recorded_gap_unanswered": "录制程序没有得到应答",
    "recorded_gap_stopped": "录制程序已停止",
    "recorded_gap_silent": "录制程序没有运行",
    "recorded_gaps_more": "另有 {count:,} 段较短的空缺（-o json 查看全部）",
    "to_the_hour": "{hour}（{weekday}）",
    "weekday_0": "星期一",
    "weekday_1": "星期二",
    "weekday_2": "星期三",
    "weekday_3": "星期四",
    "weekday_4": "星期五",
    "weekday_5": "星期六",
    "weekday_6": "星期日",
}
