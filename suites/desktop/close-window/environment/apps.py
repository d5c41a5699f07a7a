#!/usr/bin/env python3
"""Small programs with a window each: python3 apps.py settings|notes|todo|calculator|order|windows

What a program has saved is a text file in /desktop/state. Places of widgets are fixed, so that an oracle can
point at them; nothing is saved before the button or key for it was used.
"""

import sys
import tkinter as tk
from pathlib import Path
from tkinter import ttk

STATE = Path("/desktop/state")


def save(name, lines):
    STATE.mkdir(parents=True, exist_ok=True)
    (STATE / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def window(title, size, place):
    root = tk.Tk(className=title)
    root.title(title)
    root.geometry(f"{size}+{place[0]}+{place[1]}")
    root.resizable(False, False)
    return root


def settings():
    root = window("Settings", "360x240", (80, 80))
    dark, sound = tk.BooleanVar(value=False), tk.BooleanVar(value=True)
    language = tk.StringVar(value="English")
    tk.Checkbutton(root, text="Dark theme", variable=dark).place(x=20, y=20, width=150, height=30)
    tk.Checkbutton(root, text="Sound", variable=sound).place(x=20, y=60, width=150, height=30)
    for row, name in enumerate(("English", "Dansk", "Suomi")):
        place = {"x": 20, "y": 100 + 30 * row, "width": 150, "height": 28}
        tk.Radiobutton(root, text=name, value=name, variable=language, anchor="w").place(**place)
    lines = lambda: [f"dark={dark.get()}", f"sound={sound.get()}", f"language={language.get()}"]  # noqa: E731
    tk.Button(root, text="Save", command=lambda: save("settings", lines())).place(x=240, y=190, width=100, height=36)
    return root


def notes():
    root = window("Notes", "480x320", (120, 60))
    text = tk.Text(root)
    text.place(x=0, y=0, width=480, height=270)
    text.focus_set()
    name = tk.Entry(root)
    name.place(x=10, y=280, width=300, height=30)

    def write():
        if name.get():
            save(name.get().replace("/", "_").removesuffix(".txt"), [text.get("1.0", "end").strip()])

    tk.Button(root, text="Save as", command=write).place(x=330, y=278, width=130, height=34)
    return root


def todo():
    root = window("Todo", "320x300", (200, 120))
    tasks = ["Water the plants", "Pay the rent", "Call Mia", "Buy stamps", "Book the train"]
    done = [tk.BooleanVar(value=index == 1) for index, _ in enumerate(tasks)]
    for row, (name, ticked) in enumerate(zip(tasks, done, strict=True)):
        place = {"x": 20, "y": 20 + 40 * row, "width": 260, "height": 32}
        tk.Checkbutton(root, text=name, variable=ticked, anchor="w").place(**place)
    lines = lambda: [f"{name}: {'done' if t.get() else 'open'}" for name, t in zip(tasks, done, strict=True)]  # noqa: E731
    tk.Button(root, text="Apply", command=lambda: save("todo", lines())).place(x=200, y=250, width=100, height=36)
    return root


def calculator():
    root = window("Calculator", "240x320", (300, 100))
    shown = tk.StringVar(value="")
    tk.Label(root, textvariable=shown, anchor="e", relief="sunken").place(x=10, y=10, width=220, height=40)

    def press(key):
        if key == "=":
            left, sign, right = shown.get().partition("+") if "+" in shown.get() else shown.get().partition("*")
            shown.set(str(int(left) + int(right) if sign == "+" else int(left) * int(right)))
        else:
            shown.set(shown.get() + key)

    for index, key in enumerate("789456123*0+"):
        place = {"x": 10 + 75 * (index % 3), "y": 60 + 50 * (index // 3), "width": 70, "height": 45}
        tk.Button(root, text=key, command=lambda key=key: press(key)).place(**place)
    tk.Button(root, text="=", command=lambda: press("=")).place(x=10, y=265, width=100, height=45)
    tk.Button(root, text="Store", command=lambda: save("calculator", [shown.get()])).place(
        x=120, y=265, width=110, height=45
    )
    return root


def order():
    root = window("Order", "400x260", (150, 150))
    fields = {}
    for row, name in enumerate(("Name", "Street", "Town")):
        tk.Label(root, text=name, anchor="w").place(x=20, y=20 + 45 * row, width=80, height=30)
        fields[name] = tk.Entry(root)
        fields[name].place(x=110, y=20 + 45 * row, width=260, height=30)
    amount = ttk.Spinbox(root, from_=1, to=9)
    amount.set(1)
    tk.Label(root, text="Amount", anchor="w").place(x=20, y=155, width=80, height=30)
    amount.place(x=110, y=155, width=80, height=30)
    lines = lambda: [*(f"{name}={entry.get()}" for name, entry in fields.items()), f"Amount={amount.get()}"]  # noqa: E731
    tk.Button(root, text="Order", command=lambda: save("order", lines())).place(x=270, y=205, width=110, height=40)
    return root


def windows():
    """Three windows; the state names those that are open, and is written whenever one is closed."""
    root = tk.Tk()
    root.withdraw()
    names = ["Weather", "Advert", "Mail"]
    tops = {}

    def closed(name):
        tops.pop(name).destroy()
        save("windows", sorted(tops))

    for index, name in enumerate(names):
        top = tops[name] = tk.Toplevel(root)
        top.title(name)
        top.geometry(f"260x160+{60 + 200 * index}+{80 + 90 * index}")
        tk.Label(top, text=name).pack(expand=True)
        top.protocol("WM_DELETE_WINDOW", lambda name=name: closed(name))
    return root


if __name__ == "__main__":
    globals()[sys.argv[1]]().mainloop()
