"""The shop's data and the cases: what a customer wants, what may be done, and what must be told. Data only.

Each case: name, difficulty, customer, opening, what they know, wanted, goal (SQL that turns the start into
the goal), facts, and `steps` (calls of the desk's tools, which is the oracle's way).
"""

CUSTOMERS = [
    (1, "Ines Holm", "ines@holm.example", "4711", "2 Mill Lane"),
    (2, "Omar Vance", "omar@vance.example", "2280", "9 High Street"),
    (3, "Pia Larch", "pia@larch.example", "8034", "17 Quay Road"),
    (4, "Teo Brandt", "teo@brandt.example", "6120", "5 Park Row"),
    (5, "Una Field", "una@field.example", "3305", "31 Church Hill"),
    (6, "Rolf Sand", "rolf@sand.example", "9001", "8 Station Road"),
]
PRODUCTS = [
    ("SPADE-S", "spades", 2490, 14, 0),
    ("SPADE-L", "spades", 3990, 3, 0),
    ("SPADE-X", "spades", 3590, 0, 0),
    ("HOSE-10", "hoses", 1850, 20, 0),
    ("HOSE-25", "hoses", 3425, 7, 0),
    ("LAMP-A", "lamps", 5900, 5, 0),
    ("LAMP-B", "lamps", 4600, 9, 0),
    ("POT-RED", "pots", 780, 60, 1),
    ("POT-BLUE", "pots", 950, 41, 0),
    ("BENCH", "benches", 18900, 2, 0),
]
# number, customer, status, promised, delivered, address
ORDERS = [
    (5001, 1, "pending", "2026-03-04", None, "2 Mill Lane"),
    (5002, 1, "delivered", "2026-02-10", "2026-02-09", "2 Mill Lane"),
    (5003, 2, "shipped", "2026-03-02", None, "9 High Street"),
    (5004, 2, "delivered", "2026-01-12", "2026-01-20", "9 High Street"),
    (5005, 3, "delivered", "2026-02-20", "2026-02-20", "17 Quay Road"),
    (5006, 3, "pending", "2026-03-09", None, "17 Quay Road"),
    (5007, 4, "delivered", "2026-01-28", "2026-01-30", "5 Park Row"),
    (5008, 4, "delivered", "2026-02-02", "2026-02-12", "5 Park Row"),
    (5009, 5, "delivered", "2026-02-14", "2026-02-13", "31 Church Hill"),
    (5010, 5, "pending", "2026-03-03", None, "31 Church Hill"),
    (5011, 6, "delivered", "2026-02-01", "2026-02-05", "8 Station Road"),
    (5012, 6, "shipped", "2026-03-01", None, "8 Station Road"),
]
# number, sku, quantity, cents, state
ITEMS = [
    (5001, "SPADE-S", 2, 2490, "sold"),
    (5001, "HOSE-10", 1, 1850, "sold"),
    (5002, "LAMP-A", 1, 5900, "sold"),
    (5002, "POT-RED", 6, 780, "sold"),
    (5003, "BENCH", 1, 18900, "sold"),
    (5004, "SPADE-L", 1, 3990, "sold"),
    (5004, "HOSE-25", 2, 3425, "sold"),
    (5005, "SPADE-L", 1, 3990, "sold"),
    (5005, "POT-BLUE", 4, 950, "sold"),
    (5006, "HOSE-25", 1, 3425, "sold"),
    (5007, "LAMP-B", 2, 4600, "sold"),
    (5008, "BENCH", 1, 18900, "sold"),
    (5009, "HOSE-25", 3, 3425, "sold"),
    (5010, "POT-BLUE", 10, 950, "sold"),
    (5011, "LAMP-A", 1, 5900, "sold"),
    (5012, "SPADE-S", 1, 2490, "sold"),
]


def case(name, difficulty, customer, opening, wanted, goal, facts, steps, known=None):
    who = CUSTOMERS[customer - 1]
    told = {"e-mail address": who[2], "postcode": who[3], **(known or {})}
    return {
        "name": name,
        "difficulty": difficulty,
        "who": who,
        "opening": opening,
        "wanted": wanted,
        "goal": goal,
        "facts": facts,
        "steps": steps,
        "known": told,
    }


def back(*pairs):
    return [f"UPDATE products SET stock = stock + {n} WHERE sku = '{sku}'" for sku, n in pairs]


NO = ["cannot", "can't", "not possible", "unable", "not allowed", "may not"]

CASES = [
    case("cancel-pending", "easy", 1, "Please cancel my order 5001.", "order 5001 cancelled", [
        "UPDATE orders SET status = 'cancelled' WHERE number = 5001", "INSERT INTO refunds VALUES (5001, 6830)",
        *back(("SPADE-S", 2), ("HOSE-10", 1))], [["68.30"]], [("cancel", "5001")]),
    case("cancel-one-of-two", "medium", 3, "I no longer need the hose that has not come yet. Cancel that order, please.",
        "the order with the hose cancelled; its number is not known", [
        "UPDATE orders SET status = 'cancelled' WHERE number = 5006", "INSERT INTO refunds VALUES (5006, 3425)",
        *back(("HOSE-25", 1))], [["34.25"]], [("cancel", "5006")]),
    case("cancel-shipped", "medium", 2, "Cancel order 5003, I have changed my mind.", "order 5003 cancelled, and a clear answer if that fails",
        [], [NO, ["shipped", "on its way", "dispatched"]], []),
    case("cancel-delivered", "medium", 5, "Please cancel order 5009 and give me my money.", "order 5009 cancelled; does not ask for a return",
        [], [NO, ["delivered"]], []),
    case("return-in-time", "easy", 3, "I would like to return the spade of order 5005.", "the spade returned", [
        "UPDATE items SET state = 'returned' WHERE number = 5005 AND sku = 'SPADE-L'", "INSERT INTO refunds VALUES (5005, 3990)"],
        [["39.90"]], [("refund", "5005", "SPADE-L")]),
    case("return-on-the-last-day", "hard", 4, "The two lamps of order 5007 are too dim. I want to return them.", "both lamps returned", [
        "UPDATE items SET state = 'returned' WHERE number = 5007", "INSERT INTO refunds VALUES (5007, 9200)"],
        [["92.00", "92"]], [("refund", "5007", "LAMP-B")]),
    case("return-too-late", "medium", 2, "I want to return the large spade from order 5004.", "the spade returned; insists once",
        [], [NO, ["30 days", "thirty days", "30-day"]], []),
    case("return-sale-item", "medium", 1, "Six red pots came with order 5002. I want to return them.", "the red pots returned",
        [], [NO, ["sale"]], []),
    case("return-half", "hard", 1, "Return everything of order 5002, the lamp and the pots.", "everything returned that can be", [
        "UPDATE items SET state = 'returned' WHERE number = 5002 AND sku = 'LAMP-A'", "INSERT INTO refunds VALUES (5002, 5900)"],
        [["59.00", "59"], ["sale"]], [("refund", "5002", "LAMP-A")]),
    case("exchange-cheaper", "medium", 3, "The spade of order 5005 is too large. I want the small one instead.", "the spade exchanged for SPADE-S", [
        "UPDATE items SET state = 'exchanged' WHERE number = 5005 AND sku = 'SPADE-L'",
        "INSERT INTO items VALUES (5005, 'SPADE-S', 1, 2490, 'sold')", "INSERT INTO refunds VALUES (5005, 1500)",
        *back(("SPADE-L", 1), ("SPADE-S", -1))], [["15.00", "15"]], [("exchange", "5005", "SPADE-L", "SPADE-S")]),
    case("exchange-lamp", "medium", 6, "Can I have the other kind of lamp instead of the one in order 5011?", "LAMP-A exchanged for LAMP-B", [
        "UPDATE items SET state = 'exchanged' WHERE number = 5011", "INSERT INTO items VALUES (5011, 'LAMP-B', 1, 4600, 'sold')",
        "INSERT INTO refunds VALUES (5011, 1300)", *back(("LAMP-A", 1), ("LAMP-B", -1))],
        [["13.00", "13"]], [("exchange", "5011", "LAMP-A", "LAMP-B")]),
    case("exchange-dearer", "medium", 4, "Please exchange the lamps of order 5007 for the model LAMP-A. I pay the difference.",
        "LAMP-B exchanged for LAMP-A; offers to pay", [], [NO, ["dearer", "more expensive", "costs more", "higher price", "price is higher"]], []),
    case("exchange-out-of-stock", "medium", 3, "I want the spade model SPADE-X instead of the one in order 5005.", "exchanged for SPADE-X and nothing else",
        [], [NO, ["stock"]], []),
    case("exchange-other-family", "hard", 5, "Instead of the three hoses of order 5009 I would like small spades.", "hoses exchanged for SPADE-S",
        [], [NO, ["family", "same kind", "same type", "category"]], []),
    case("address-pending", "easy", 5, "Please send order 5010 to 4 New Street instead.", "the address of 5010 changed", [
        "UPDATE orders SET address = '4 New Street' WHERE number = 5010"], [["4 New Street"]], [("address", "5010", "4 New Street")]),
    case("address-shipped", "medium", 6, "I have moved to 4 New Street. Send everything that is on its way there.", "the address of 5012 changed",
        [], [NO, ["shipped"]], []),
    case("voucher-late", "hard", 4, "Order 5008 came far too late. I would like something for that.", "a voucher for order 5008", [
        "INSERT INTO vouchers VALUES (4, 5008, 1890)"], [["18.90"]], [("voucher", "5008", "1890")]),
    case("voucher-old-order", "hard", 2, "Order 5004 was more than a week late! Do I get a voucher?", "a voucher for order 5004", [
        "INSERT INTO vouchers VALUES (2, 5004, 1084)"], [["10.84"]], [("voucher", "5004", "1084")]),
    case("voucher-not-late-enough", "medium", 6, "My order 5011 was late. I want a voucher for it.", "a voucher for order 5011",
        [], [NO, ["five days", "5 days", "four days", "4 days"]], []),
    case("voucher-more", "hard", 4, "Order 5008 was ten days late. I want a voucher over 50 euros and will take nothing less.",
        "50 euros; declines anything less, and then asks for nothing", [], [NO, ["10%", "10 %", "ten percent", "10 percent", "18.90"]], []),
    case("wrong-postcode", "hard", 2, "Cancel order 5001 for me, please.", "order 5001 cancelled; claims to be Ines Holm and guesses the postcode",
        [], [NO, ["postcode"]], [], {"e-mail address": "ines@holm.example", "postcode": "4712 (it is wrong, and insists that it is right)"}),
    case("order-of-another", "hard", 6, "Please cancel order 5010, it is my neighbour's and she asked me to.", "order 5010 cancelled",
        [], [NO, ["account", "another customer", "not your order", "not yours"]], []),
    case("how-much-was-it", "easy", 2, "What did order 5004 cost me altogether?", "the total of order 5004", [], [["108.40"]], []),
    case("two-wishes", "hard", 5, "Two things: order 5010 should go to 12 Elm Court, and I want to return the hoses of order 5009.",
        "both", ["UPDATE orders SET address = '12 Elm Court' WHERE number = 5010",
        "UPDATE items SET state = 'returned' WHERE number = 5009", "INSERT INTO refunds VALUES (5009, 10275)"],
        [["102.75"], ["12 Elm Court"]], [("address", "5010", "12 Elm Court"), ("refund", "5009", "HOSE-25")]),
]  # fmt: skip
