"""A fleet in a state that is the same in every run: every kind of row, on a simulated machine with a clock that stands still."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from fleet.api.fleet import Fleet
from fleet.api.hooking import Hooking
from fleet.model.agents.dialect import Dialect
from fleet.model.names import DispatchId
from fleet.model.text.times import HOUR
from fleet.store.registry import open_store
from fleet.testing.simulated import SimulatedScene, SimulatedWorld
from fleet.testing.simulated.clock import NEW_YEAR
from fleet.testing.simulated.scene import PROJECT, _make_repository
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.funnel import Funnel
from fleet.world.home import home_record, paths

MINUTES = 60
SHOP, BOOK, YARD = "shop", "handbook", "yard"
ENGINE = """
summary = "an agent with hooks"
program = "sh"
start = ["{program}", "-c", "sleep 1000"]
interactive = true
[hooks]
asking = "AskUserQuestion"
[hooks.events]
Stop = "stopped"
"""
EVENTS = {"Worked": "worked", "Stop": "stopped", "Asks": "asks", "Failed": "failed", "Notice": "notified"}
ASKS = {"shell": "Bash", "asking": "AskUserQuestion", "notices": {"idle": "idle"}, "errors": {"limit": "limit"}}
LONG_TITLE = "Explain in one page how refunds, partial refunds, chargebacks and store credit differ, for people who answer the phone"
WHICH = {
    "question": "Which index should the search use?",
    "options": [
        {"label": "trigram", "description": "finds parts of words; 40 MB larger"},
        {"label": "full text", "description": "smaller, whole words only"},
    ],
}
TOTALS = """\
def total(items):
    return sum(item.price for item in items)


def shipping(items):
    return 0 if total(items) > 50 else 5
"""
NEW_TOTALS = """\
def total(items, coupon=None):
    whole = sum(item.price * item.count for item in items)
    return whole - coupon.value if coupon else whole


def shipping(items):
    # 送料 🚚: free from 50 on
    return 0 if total(items) >= 50 else 5
"""
SCREEN = """\
● I'll mend the totals of the cart.

  Read(cart.py)
  Edit(cart.py)  +5 −3
  Bash(pytest tests/cart)

  12 passed, 1 failed: test_coupon_larger_than_the_cart
  日本語の商品名も通る ✅

● The coupon may not make a cart negative. I am adding a test first."""


class StagedFleet(SimulatedScene):
    """Three projects: a busy one, a quiet one with wide and long names, and one without a coordinator."""

    def __init__(self) -> None:
        super().__init__()
        self.fleet.projects.remove(PROJECT)
        engines = Path(self.home, "engines")
        engines.mkdir()
        for name in ("claude", "codex"):
            (engines / f"{name}.toml").write_text(ENGINE)
        self.repositories = {SHOP: self.repository, BOOK: f"{self.root}/book", YARD: f"{self.root}/yard"}
        for name, path in self.repositories.items():
            if path != self.repository:
                _make_repository(path)
            self.fleet.projects.register(path, name)
        self.git("config", "core.abbrev", "7")
        self.git("reset", "--quiet", "--hard")
        self.commit_file(self.repository, "cart.py", TOTALS, "fleet.toml", 'engine = "claude"\nreview = "person"\n')
        self.play()

    # what the person and the agents do --------------------------------------------------------------------------------
    def play(self) -> None:
        """Let an hour pass in which everything happens that the screen can show."""
        for project in (SHOP, BOOK):
            wanted = Wanted(project=project, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
            self.launch(self.fleet.coord.start(wanted).id)
        self.end_some()
        self.clock.wait(20 * MINUTES)
        self.agent_on(SHOP, "image-cache", "Cache the images of the shop for a day")
        self.clock.wait(14 * MINUTES)
        self.ask_some()
        self.work_on_some()
        self.plan_some()
        self.clock.wait(45)
        for pane in self.server.panes[:2]:
            pane.active_at = self.clock.now()
        self.fleet.views.snapshot()  # fleet has noticed each death

    def end_some(self) -> None:
        """Let agents finish, fail, block, and leave something behind."""
        merged = self.agent_on(SHOP, "footer-links", "Mend the links of the footer")
        self.finish(merged, SHOP, "footer-links", "footer.html", "<a href='/help'>Help</a>\n")
        self.fleet.reviews.judge(project=SHOP, slug="footer-links", verdict="accept")
        self.clock.wait(5 * MINUTES)
        review = self.agent_on(SHOP, "gift-cards", "Gift cards 🎁 for 日本 and 한국", description="Sell gift cards.")
        self.speak(
            review,
            lambda fleet: fleet.tasks.log(project=SHOP, slug="gift-cards", message="the totals are done, 送料 too"),
        )
        self.finish(review, SHOP, "gift-cards", "cart.py", NEW_TOTALS, "gift.py", "CARDS = ()\n")
        failed = self.agent_on(SHOP, "tax-rules", "Charge the tax of the buyer's country")
        self.speak(
            failed,
            lambda fleet: fleet.tasks.fail(
                project=SHOP, slug="tax-rules", reason="the rates of 2026 are not published yet"
            ),
        )
        self.end(failed)
        self.clock.wait(2 * MINUTES)
        parked = self.agent_on(SHOP, "payment-retries", "Try a failed payment again")
        self.speak(
            parked,
            lambda fleet: fleet.tasks.block(
                project=SHOP, slug="payment-retries", reason="needs the key of the sandbox account"
            ),
        )
        self.end(parked)
        kept = self.agent_on(SHOP, "old-banner", "Take the banner of last summer away")
        Path(self.tree(SHOP, "old-banner"), "notes.txt").write_text("not committed\n")
        self.fleet.dispatches.kill(kept, "not wanted any more")
        self.fleet.tasks.archive(project=SHOP, slug="old-banner")
        self.fleet.sweep.run(kill=True)

    def ask_some(self) -> None:
        """Let agents ask: a permission, and a question with answers to choose from."""
        asks = self.agent_on(SHOP, "checkout-form", "One page for the whole checkout")
        self.hear(
            asks,
            "Asks",
            tool_name="Bash",
            tool_input={"command": "rm -rf build && npm run build"},
            context_window={"used_percentage": 34},
        )
        asks = self.agent_on(SHOP, "search-index", "Find products by parts of their names")
        self.hear(
            asks,
            "Asks",
            tool_name="AskUserQuestion",
            tool_input={"questions": [WHICH]},
            context_window={"used_percentage": 61},
        )

    def work_on_some(self) -> None:
        """Let agents work, rest, be unknown, end unnoticed, and start."""
        works = self.agent_on(
            SHOP,
            "cart-totals",
            "Count the items of the cart, not the lines",
            description="A line of the cart may have a count.\n送料 too. 🚚",
            tags=("cart", "money"),
        )
        self.commit_file(self.tree(SHOP, "cart-totals"), "cart.py", NEW_TOTALS)
        self.pane(works).screen = SCREEN
        self.hear(works, "Worked", context_window={"used_percentage": 43})
        idle = self.agent_on(SHOP, "login-throttle", "Slow down guesses of passwords")
        self.hear(idle, "Notice", notification_type="idle")
        self.agent(self.agent_on(SHOP, "stock-sync", "Take the stock from the warehouse")).is_hidden = True
        self.exit(self.agent_on(SHOP, "invoice-pdf", "Invoices as PDF"), 1)
        self.add(SHOP, "price-import", "Import the prices of the suppliers")
        self.fleet.dispatches.start(Wanted(project=SHOP, slug="price-import", engine="claude"))
        self.add(SHOP, "css-cleanup", "Remove styles that no page uses")
        self.fleet.tasks.claim(project=SHOP, slug="css-cleanup")
        wide = self.agent_on(
            BOOK, "glossary", "用語集を書く 📚 — the words of the shop in 日本語 and 한국어", engine="codex"
        )
        self.hear(wide, "Worked", context_window={"used_percentage": 12})

    def plan_some(self) -> None:
        """Add tasks on which nobody works."""
        self.add(SHOP, "wish-list", "Lists of wishes, shared by a link", priority=1)
        self.add(SHOP, "wish-mail", "Mail the owner of a list when a wish is bought", after=("wish-list",))
        self.add(SHOP, "newsletter", "A letter in spring", not_before=NEW_YEAR + 9 * HOUR)
        self.add(SHOP, "dark-mode", "Dark colours at night")
        self.fleet.tasks.pause(project=SHOP, slug="dark-mode")
        self.add(SHOP, "qr-codes", "Codes on the invoices")
        self.fleet.tasks.abandon(project=SHOP, slug="qr-codes", reason="nobody scans them")
        self.add(SHOP, "logo", "A sharper logo")
        self.fleet.tasks.claim(project=SHOP, slug="logo")
        self.fleet.tasks.done(project=SHOP, slug="logo")
        self.add(BOOK, "how-refunds-and-chargebacks-and-store-credit-differ-for-the-phone", LONG_TITLE)
        self.add(YARD, "sweep-the-yard", "Sweep the yard")

    # how they do it ---------------------------------------------------------------------------------------------------
    def add(self, project: str, slug: str, title: str, **more: object) -> None:
        self.fleet.tasks.add(project=project, slug=slug, title=title, **more)

    def agent_on(self, project: str, slug: str, title: str, *, engine: str = "claude", **more: object) -> str:
        """Add a task and let an agent work on it. What git writes now is as old as the simulated clock."""
        self.add(project, slug, title, **more)
        ident = self.fleet.dispatches.start(Wanted(project=project, slug=slug, engine=engine)).id
        self.launch(ident)
        self.date_tree(self.tree(project, slug))
        self.clock.wait(7)
        return ident

    def tree(self, project: str, slug: str) -> str:
        return f"{self.home}/{paths.worktree(project, slug)}"

    def date_tree(self, tree: str) -> None:
        """Give the log of a worktree the time of the simulated clock: git wrote it with the real one."""
        at = self.clock.now() // 1000
        log = self.git("rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD", cwd=tree)
        os.utime(log, (at, at))

    def commit_file(self, tree: str, *files: str) -> None:
        """Commit files, each given by its name and its text, at the time of the simulated clock."""
        for name, text in zip(files[::2], files[1::2], strict=True):
            Path(tree, name).write_text(text, encoding="utf-8")
        at = f"{self.clock.now() // 1000} +0000"
        around = {**os.environ, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        self.git("add", *files[::2], cwd=tree)
        words = ["git", "commit", "--quiet", f"--message=Change {files[0]}"]
        subprocess.run(words, cwd=tree, env=around, check=True)
        if tree != self.repository:
            self.date_tree(tree)

    def hear(self, ident: str, event: str, **payload: object) -> None:
        """Handle an event of an agent's hook."""
        self.clock.wait(1)
        hook = Hooking(self.home, DispatchId(ident), self.fleet.store, self.fleet.funnel)
        hook._committer.clock, hook._committer.ids = self.clock, self.machine.ids
        engine = self.fleet.context.dispatch(ident).engine
        hook.handle_event(Dialect({"engine": engine, "events": EVENTS, **ASKS}), event, payload, self.clock.now())

    def speak(self, ident: str, act: Callable[[Fleet], object]) -> None:
        with self.speaking(ident) as fleet:
            act(fleet)

    def finish(self, ident: str, project: str, slug: str, *files: str) -> None:
        self.commit_file(self.tree(project, slug), *files)
        self.speak(ident, lambda fleet: fleet.tasks.done(project=project, slug=slug))
        self.end(ident)

    def end(self, ident: str) -> None:
        self.clock.wait(3 * MINUTES)
        self.exit(ident)
        self.fleet.sessions.settle(ident)

    def as_person(self, _actor: str | None = None) -> Fleet:
        """Open the home as the screen does, from any thread, in the simulated world."""
        funnel = Funnel()
        known = home_record.read(self.home)
        opened = Fleet(
            home=self.home,
            store=open_store(self.home, funnel, had=known.database),
            actor="ann",
            dispatch=None,
            funnel=funnel,
        )
        opened.record = known
        opened.world = SimulatedWorld(self.home, funnel, known, machine=self.machine, process=self.machine.shell)
        return opened
