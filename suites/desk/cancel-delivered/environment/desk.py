#!/usr/bin/env python3
"""desk: the tools of the service desk. They do what they are told; what is allowed is in /desk/policy.md.

desk customer EMAIL            who that is, and the numbers of their orders
desk order NUMBER              an order with its items
desk product SKU-OR-FAMILY     price (in cents), stock and whether it is on sale
desk cancel NUMBER             cancel an order: refund all of it, put the goods back into stock
desk refund NUMBER SKU         take an item back and refund its price
desk exchange NUMBER SKU NEW   exchange an item; a lower price refunds the difference
desk address NUMBER ADDRESS    change where an order goes
desk voucher NUMBER CENTS      give the customer of an order a voucher
desk tell TEXT                 say something to the customer
"""

import json
import os
import sqlite3
import sys

FOLDER = os.environ.get("DESK", "/desk")


def main(command="help", *words):
    db = sqlite3.connect(f"{FOLDER}/desk.db")
    db.row_factory = sqlite3.Row
    commands = {f.__name__: f for f in (customer, order, product, cancel, refund, exchange, address, voucher, tell)}
    if command not in commands:
        sys.exit(__doc__)
    try:
        result = commands[command](db, *words)
    except (TypeError, ValueError, LookupError) as error:
        sys.exit(f"desk {command}: {error}")
    db.commit()
    print(json.dumps(result, indent=1))


def rows(db, sql, *values):
    return [dict(row) for row in db.execute(sql, values)]


def one(db, what, sql, *values):
    found = rows(db, sql, *values)
    if not found:
        raise LookupError(f"no such {what}")
    return found[0]


def customer(db, email):
    found = one(db, "customer", "SELECT * FROM customers WHERE email = ?", email)
    return {
        **found,
        "orders": [r["number"] for r in rows(db, "SELECT number FROM orders WHERE customer = ?", found["id"])],
    }


def order(db, number):
    found = one(db, "order", "SELECT * FROM orders WHERE number = ?", int(number))
    return {**found, "items": rows(db, "SELECT sku, quantity, cents, state FROM items WHERE number = ?", int(number))}


def product(db, name):
    found = rows(db, "SELECT * FROM products WHERE sku = ?1 OR family = ?1", name)
    if not found:
        raise LookupError("no such product")
    return found


def item(db, number, sku):
    return one(
        db, "item to take back", "SELECT * FROM items WHERE number = ? AND sku = ? AND state = 'sold'", int(number), sku
    )


def cancel(db, number):
    total = 0
    for line in order(db, number)["items"]:
        total += line["quantity"] * line["cents"]
        db.execute("UPDATE products SET stock = stock + ? WHERE sku = ?", (line["quantity"], line["sku"]))
    db.execute("UPDATE orders SET status = 'cancelled' WHERE number = ?", (int(number),))
    db.execute("INSERT INTO refunds VALUES (?, ?)", (int(number), total))
    return {"refunded_cents": total}


def refund(db, number, sku):
    line = item(db, number, sku)
    cents = line["quantity"] * line["cents"]
    db.execute("UPDATE items SET state = 'returned' WHERE number = ? AND sku = ?", (int(number), sku))
    db.execute("INSERT INTO refunds VALUES (?, ?)", (int(number), cents))
    return {"refunded_cents": cents}


def exchange(db, number, sku, new):
    line, other = item(db, number, sku), one(db, "product", "SELECT * FROM products WHERE sku = ?", new)
    difference = line["quantity"] * (line["cents"] - other["cents"])
    db.execute("UPDATE items SET state = 'exchanged' WHERE number = ? AND sku = ?", (int(number), sku))
    db.execute("INSERT INTO items VALUES (?, ?, ?, ?, 'sold')", (int(number), new, line["quantity"], other["cents"]))
    db.execute("UPDATE products SET stock = stock - ? WHERE sku = ?", (line["quantity"], new))
    db.execute("UPDATE products SET stock = stock + ? WHERE sku = ?", (line["quantity"], sku))
    if difference > 0:
        db.execute("INSERT INTO refunds VALUES (?, ?)", (int(number), difference))
    return {"refunded_cents": max(difference, 0)}


def address(db, number, text):
    order(db, number)
    db.execute("UPDATE orders SET address = ? WHERE number = ?", (text, int(number)))
    return {"address": text}


def voucher(db, number, cents):
    found = order(db, number)
    db.execute("INSERT INTO vouchers VALUES (?, ?, ?)", (found["customer"], int(number), int(cents)))
    return {"voucher_cents": int(cents)}


def tell(db, *words):
    with open(f"{FOLDER}/told.txt", "a", encoding="utf-8") as file:
        file.write(" ".join(words) + "\n")
    return {"told": True}


if __name__ == "__main__":
    main(*sys.argv[1:])
