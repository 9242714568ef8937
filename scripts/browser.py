"""Uses the search page as people do, in Chromium: browser.py URL KEY LINK PICTURES

By clicks, by keys alone, without scripts, in the dark and in the light, on a narrow screen; axe-core looks at each page. Writes pictures into the
folder, and a line for each thing that is wrong; ends with 1 where there is any. What to search for is made by the test that starts this.
"""

import importlib.util
import pathlib
import sys

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

WAIT_S = 60
URL, KEY, LINK, PICTURES = sys.argv[1:]
wrong = []


def check(is_so, sentence):
    if not is_so:
        wrong.append(sentence)
        print(f"wrong: {sentence}", flush=True)


def browser(scripts):
    options = webdriver.ChromeOptions()
    for flag in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "window-size=1000,900"):
        options.add_argument(f"--{flag}")
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if not scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


class Page:
    def __init__(self, driver):
        self.driver = driver

    def one(self, selector):
        found = lambda driver: driver.find_elements(By.CSS_SELECTOR, selector)
        return WebDriverWait(self.driver, WAIT_S).until(found, f"there is no {selector}")[0]

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def says(self, words):
        body = lambda driver: words in driver.find_element(By.TAG_NAME, "body").text
        WebDriverWait(self.driver, WAIT_S, ignored_exceptions=[Exception]).until(body, f"the page never says: {words}")

    def picture(self, name):
        self.driver.save_screenshot(f"{PICTURES}/{name}.png")

    def logs_in(self):
        self.driver.get(URL)
        self.one("#key").send_keys(KEY, Keys.ENTER)
        self.says("You search as")

    def searches(self, query, says):
        field = self.one("#q")
        field.clear()
        field.send_keys(query)
        self.one("form[role=search] button").click()
        self.says(says)

    def colors(self, scheme):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def width(self, pixels):
        size = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def is_accessible(self, name):
        """In both colors and on a narrow screen, with a picture of each."""
        for scheme in ("light", "dark"):
            self.colors(scheme)
            for pixels in (1000, 360):
                self.width(pixels)
                self.picture(f"{name}-{scheme}-{pixels}")
                at = f"{name}, {scheme}, {pixels} pixels"
                wide = self.driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
                check(wide <= 0, f"{at}: the page is {wide} pixels wider than its window")
                self.driver.execute_script(AXE)
                found = self.driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
                check(found["passes"], f"{at}: axe-core has looked at nothing")
                for violation in found["violations"]:
                    nodes = "; ".join(node["html"] for node in violation["nodes"])
                    check(False, f"{at}: {violation['id']}: {violation['help']}: {nodes}")
        self.width(1000)
        self.colors("light")

    def is_quiet(self, at):
        for line in self.driver.get_log("browser"):
            check(False, f"{at}: the console says {line['message']}")
        done = self.driver.execute_script("return window.planted")
        check(done is None, f"{at}: what was planted was done: {done}")


def axe():
    package = importlib.util.find_spec("axe_core_python")
    return (pathlib.Path(package.origin).parent / "axe.min.js").read_text()


AXE = axe()


def by_clicks(driver):
    page = Page(driver)
    driver.get(URL)
    page.one("#key")
    page.is_accessible("login")
    page.one("#key").send_keys("ing_0_0")
    page.one("button").click()
    page.one("[role=alert]")
    page.is_accessible("refused")
    page.logs_in()
    page.is_accessible("empty")
    page.searches("apple", "25 hits")
    check(len(page.all("main li")) == 10, "ten hits are on a page")
    check(page.all("main li mark"), "what was searched for is marked")
    page.is_accessible("found")
    page.one("a[rel=next]").click()
    page.one("a[rel=prev]")
    check(page.one("#q").get_attribute("value") == "apple", "the query stays where it was typed")
    page.picture("second")
    page.one("a[rel=next]").click()
    page.says("Previous")
    check(len(page.all("main li")) == 3 and not page.all("a[rel=next]"), "the last page has what is left, less two copies")
    page.one("a[rel=prev]").click()
    page.one("a[rel=next]")
    facet = next(one for one in page.all("nav[aria-label=Jobs] a") if one.text == "second")
    facet.click()
    page.says("3 hits")
    check("job:" in page.one("#q").get_attribute("value"), "a facet narrows the query that is shown")
    # What was told so far is about the login that was refused.
    driver.get_log("browser")
    page.searches("planted", "2 hits")
    page.says("and one more with the same text")
    page.is_accessible("planted")
    page.searches("name:script", "1 hit")
    page.picture("planted-name")
    page.is_quiet("planted")
    check(not page.all("main script, main img, main iframe, main svg"), "what was planted is on the page")
    page.searches("aple", "Searched for")
    page.is_accessible("corrected")
    page.one("p a").click()
    page.says("Nothing was found")
    page.is_accessible("nothing")
    page.one("details summary").click()
    page.says("ingather why")
    page.picture("why")
    page.searches("apple AND (", "query")
    page.one("[role=alert]")
    page.is_accessible("mistake")
    page.one("header button").click()
    page.one("#key")
    driver.get(URL + "/?q=apple")
    check(page.all("#key") and not page.all("main li"), "whoever has logged out finds nothing")
    driver.get_log("browser")
    driver.get(LINK)
    page.says("You search as")
    driver.get(LINK)
    page.says("was opened before")


def by_keys(driver):
    page = Page(driver)
    driver.get(URL)
    press = lambda *keys: webdriver.ActionChains(driver).send_keys(*keys).perform()
    focus = lambda: driver.switch_to.active_element
    press(Keys.TAB)
    check(focus().get_attribute("id") == "key", "the first stop of the login page is its field")
    press(KEY, Keys.ENTER)
    page.says("You search as")
    stops = 0
    while focus().get_attribute("id") != "q" and stops < 5:
        press(Keys.TAB)
        stops += 1
    check(focus().get_attribute("id") == "q", "the search field is reached by keys")
    press("apple", Keys.ENTER)
    page.says("25 hits")
    reached = []
    for _ in range(40):
        press(Keys.TAB)
        reached.append(focus().get_attribute("href") or focus().text)
        outline = driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        check(outline != "none" or focus().tag_name == "body", f"the focus on {reached[-1]} cannot be seen")
        if focus().get_attribute("rel") == "next":
            break
    check(sum((one or "").startswith("file://") for one in reached) == 10, f"all hits are reached by keys: {reached}")
    page.picture("focus")
    press(Keys.ENTER)
    page.one("a[rel=prev]")


def without_scripts(driver):
    page = Page(driver)
    page.logs_in()
    page.searches("apple", "25 hits")
    page.one("a[rel=next]").click()
    page.one("a[rel=prev]").click()
    page.one("a[rel=next]")
    page.searches("planted", "2 hits")
    page.one("header button").click()
    page.one("#key")


for use, scripts in ((by_clicks, True), (by_keys, True), (without_scripts, False)):
    driver = browser(scripts)
    try:
        use(driver)
    except Exception as error:  # noqa: BLE001: what is wrong is told, whatever it is
        Page(driver).picture(f"failed-{use.__name__}")
        check(False, f"{use.__name__}: {type(error).__name__}: {error}")
    finally:
        driver.quit()
sys.exit(1 if wrong else 0)
