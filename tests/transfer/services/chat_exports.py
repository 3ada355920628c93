"""Small exports of Google Chat, Skype, KakaoTalk, WeChat and Discord's package of data."""

from __future__ import annotations

import json
from collections.abc import Mapping

Files = dict[str, bytes]

ANN = {"name": "Ann", "email": "ann@example.org", "user_type": "Human"}
NORA = {"name": "Nora", "email": "nora@example.org", "user_type": "Human"}
GOOGLE_CHAT: Files = {
    "Google Chat/Groups/DM k6oxHQ/group_info.json": json.dumps({"members": [ANN, NORA]}).encode(),
    "Google Chat/Groups/DM k6oxHQ/messages.json": json.dumps(
        {
            "messages": [
                {
                    "creator": ANN,
                    "created_date": "Monday, May 6, 2024 at 6:05:22 PM UTC",
                    "text": "Which door is red?",
                    "topic_id": "t1",
                    "message_id": "k6oxHQ/t1/t1",
                },
                {
                    "creator": NORA,
                    "created_date": "Monday, May 6, 2024 at 6:06:00\u202fPM UTC",
                    "text": "The right one.",
                    "attached_files": [{"original_name": "door.png", "export_name": "File-door.png"}],
                    "topic_id": "t2",
                    "message_id": "k6oxHQ/t2/t2",
                },
                {
                    "creator": ANN,
                    "created_date": "Monday, May 6, 2024 at 6:07:00 PM UTC",
                    "attached_files": [{"export_name": "File-2.png"}],
                    "topic_id": "t3",
                    "message_id": "k6oxHQ/t3/t3",
                },
                {
                    "creator": {"name": "Clock", "user_type": "Bot"},
                    "created_date": "lundi 6 mai 2024 à 18:08:00 UTC",
                    "text": "It is six.",
                    "topic_id": "t4",
                    "message_id": "k6oxHQ/t4/t4",
                },
            ]
        }
    ).encode(),
    "Google Chat/Users/User 1/user_info.json": json.dumps({"user": NORA, "membership_info": []}).encode(),
}
DISCORD_PACKAGE: Files = {
    "Account/user.json": json.dumps({"id": "9", "username": "nora", "global_name": "Nora"}).encode(),
    "Messages/index.json": json.dumps(
        {"11": "doors in House", "12": "Direct Message with ann#0", "13": "Direct Message with Unknown Participant"}
    ).encode(),
    "Messages/c11/channel.json": json.dumps(
        {"id": "11", "type": "GUILD_TEXT", "name": "doors", "guild": {"id": "1", "name": "House"}}
    ).encode(),
    "Messages/c11/messages.json": json.dumps(
        [
            {"ID": 1002, "Timestamp": "2024-05-06 18:06:00", "Contents": "The right one.", "Attachments": ""},
            {"ID": 1001, "Timestamp": "2024-05-06 18:05:22", "Contents": "Hi!", "Attachments": ""},
            {
                "ID": 1003,
                "Timestamp": "2024-05-06 18:07:00",
                "Contents": "",
                "Attachments": "https://c.org/1/a.png?ex=0",
            },
        ]
    ).encode(),
    "Messages/c12/channel.json": json.dumps({"id": "12", "type": "DM", "recipients": ["8", "9"]}).encode(),
    "Messages/c12/messages.json": json.dumps(
        [
            {
                "ID": 1004,
                "Timestamp": "2024-05-06 18:08:00",
                "Contents": "Look.",
                "Attachments": "https://c.org/1/a.png?ex=0 https://c.org/2/b.png",
            }
        ]
    ).encode(),
}
DISCORD_PACKAGE_CSV: Files = {
    "messages/c13/channel.json": b'{"id": "13", "type": 1}',
    "messages/c13/messages.csv": (
        b"ID,Timestamp,Contents,Attachments\r\n"
        b'1005,2020-05-06 18:08:00.123000+00:00,"Two\nlines.",\r\n1006,2020-05-06 18:09:00.000000+00:00,,\r\n'
    ),
    "messages/index.json": b'{"13": "Direct Message with Unknown Participant"}',
}
KAKAOTALK_PC = (
    "Ann 님과 카카오톡 대화\r\n저장한 날짜 : 2024-05-08 19:00:00\r\n\r\n"
    "--------------- 2024년 5월 6일 월요일 ---------------\r\n[Ann] [오후 6:05] 어느 문이 빨간색이야?\r\n"
    "[회원님] [오후 6:06] 오른쪽 문.\r\n\r\n[맞지?]\r\n[Ann] [오후 6:07] 사진\r\n"
    "Bob님이 들어왔습니다.\r\n[Ann] [오후 6:08] 삭제된 메시지입니다.\r\n"
    "--------------- 2024년 5월 7일 화요일 ---------------\r\n[Ann] [오전 12:30] 고마워!\r\n"
).encode("utf-8-sig")
KAKAOTALK_ANDROID = (
    "Ann 님과 카카오톡 대화\n저장한 날짜 : 2024년 5월 8일 오후 7:00\n\n\n2024년 5월 6일 오후 6:05\n"
    "2024년 5월 6일 오후 6:05, Ann : 어느 문이 빨간색이야?\n2024년 5월 6일 오후 6:06, 회원님 : 오른쪽 문.\n\n[맞지?]\n"
    "2024년 5월 6일 오후 6:07, Ann : 사진\n2024년 5월 6일 오후 6:07, Bob님이 들어왔습니다.\n"
    "2024년 5월 6일 오후 6:08, Ann : 삭제된 메시지입니다.\n2024년 5월 7일 오전 12:30\n"
    "2024년 5월 7일 오전 12:30, Ann : 고마워!\n"
).encode()
KAKAOTALK_IPHONE = (
    "Talk_2024.5.8 19:00-1.txt\n저장한 날짜 : 2024. 5. 8. 오후 7:00\n\n2024년 5월 6일 월요일\n"
    "2024. 5. 6. 오후 6:05, Ann : 어느 문이 빨간색이야?\n2024. 5. 6. 18:06, 회원님 : 오른쪽 문.\n\n[맞지?]\n"
    "2024. 5. 6. 오후 6:07, Ann : 사진 3장\n2024. 5. 6. 오후 6:07: Bob님이 들어왔습니다.\n"
    "2024. 5. 6. 오후 6:08, Ann : 삭제된 메시지입니다.\n2024년 5월 7일 화요일\n2024. 5. 7. 오전 12:30, Ann : 고마워!\n"
).encode()
KAKAOTALK_ENGLISH = (
    "KakaoTalk Chats with Ann\nDate Saved : May 8, 2024, 7:00 PM\n\nMay 6, 2024, 6:05 PM\n"
    "May 6, 2024, 6:05 PM, Ann : Which door is red?\nMay 6, 2024 at 6:06\u202fPM, Nora : The right one.\n"
    "May 6, 2024, 6:07 PM, Ann : Photo\n"
).encode()
KAKAOTALK_ENGLISH_PC = (
    "KakaoTalk Chats with Ann\r\nDate Saved : 2024-05-08 19:00:00\r\n\r\n"
    "--------------- Monday, May 6, 2024 ---------------\r\n[Ann] [6:05 PM] Which door is red?\r\n"
    "[Nora] [6:06 PM] The right one.\r\n[Ann] [6:07 PM] Photo\r\n"
).encode("utf-8-sig")
WECHAT = (
    "localId,TalkerId,Type,SubType,IsSender,CreateTime,Status,StrContent,StrTime,Remark,NickName,Sender\r\n"
    "1,7,1,0,0,1715018722,2,哪扇门是红色的？,2024-05-07 02:05:22,小明,Ming,wxid_1\r\n"
    '2,7,1,0,1,1715018760,2,"右边那扇，\n对吧？",2024-05-07 02:06:00,Nora,Nora,wxid_2\r\n'
    "3,7,3,0,0,1715018820,2,<msg/>,2024-05-07 02:07:00,小明,Ming,wxid_1\r\n"
    "4,7,10000,0,0,1715018830,2,你撤回了一条消息,2024-05-07 02:07:10,,,\r\n"
    "5,7,1,0,0,1715018840,2,谢谢,2024-05-07 02:07:20\r\n"
).encode("utf-8-sig")


def skype_message(id: str, sender: str, content: str, kind: str = "RichText", **fields: object) -> dict[str, object]:
    """Return a message of Skype, whose id is its time."""
    at = f"2024-05-06T18:{id}:00.123Z"
    return {
        "id": f"17150{id}",
        "displayName": None,
        "originalarrivaltime": at,
        "messagetype": kind,
        "version": 1,
        "content": content,
        "conversationid": "8:live:ann",
        "from": sender,
        "properties": None,
        "amsreferences": None,
        **fields,
    }


_QUOTE = '<quote author="live:ann" authorname="Ann" messageid="1715005"><legacyquote>[18:05] Ann: </legacyquote>Which'
SKYPE: Files = {
    "messages.json": json.dumps(
        {
            "userId": "8:live:nora",
            "exportDate": "2024-05-08T19:00",
            "conversations": [
                {
                    "id": "8:live:ann",
                    "displayName": "Ann",
                    "version": 1,
                    "properties": {"conversationblocked": False},
                    "threadProperties": None,
                    "MessageList": [
                        skype_message("09", "8:live:nora", '<partlist type="ended"></partlist>', "Event/Call"),
                        skype_message("08", "8:live:ann", "<URIObject>a</URIObject>", "RichText/UriObject"),
                        skype_message(
                            "07", "8:live:nora", f'{_QUOTE} door?</quote>The <b raw_pre="*">right</b> one,\r\n3 &lt; 4'
                        ),
                        skype_message("06", "8:live:ann", 'Hello? <ss type="smile">:)</ss>'),
                        skype_message("05", "8:live:ann", "Which door isn&apos;t red?"),
                    ],
                },
                {
                    "id": "19:abc@thread.skype",
                    "displayName": None,
                    "MessageList": [
                        skype_message("11", "8:live:nora", "<addmember/>", "ThreadActivity/AddMember"),
                        skype_message("10", "28:bot", "Hi all."),
                    ],
                },
            ],
        }
    ).encode()
}
CHAT_EXPORTS: Mapping[str, Files] = {
    "googlechat": GOOGLE_CHAT,
    "skype": SKYPE,
    "discordpackage": DISCORD_PACKAGE,
    "discordpackage, csv": DISCORD_PACKAGE_CSV,
    "kakaotalk": {"KakaoTalk_20240508.txt": KAKAOTALK_PC},
    "kakaotalk, phone": {"KakaoTalkChats.txt": KAKAOTALK_ANDROID},
    "wechat": {"小明_utf8.csv": WECHAT},
}
