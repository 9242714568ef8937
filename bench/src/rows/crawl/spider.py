"""Follows all links of a site with Scrapy, takes the title of each page, and says how many there were."""

import re
import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

PAGES = []


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = [sys.argv[1]]
    links = LinkExtractor(allow=re.escape(sys.argv[1].rsplit("/", 1)[0]) + "/", deny_extensions=[])

    def parse(self, response):
        PAGES.append(response.css("title::text").get())
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url, callback=self.parse)


process = CrawlerProcess(
    settings={
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(Pages)
process.start()
print(len(PAGES))
