/** The console in a page of a real browser. */
import { expect } from 'chai';
import type { Browser, Locator, Page } from 'playwright-core';

/** Screen sizes of a desktop and of a phone. */
export const VIEWPORTS = [
  { width: 1_280, height: 800 },
  { width: 390, height: 844 },
] as const;

export type Viewport = (typeof VIEWPORTS)[number];

export async function enterKey(page: Page, url: string, key: string): Promise<void> {
  await page.goto(`${url}/console/`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Signs in, and waits for the screens. */
export async function signIn(page: Page, url: string, key: string): Promise<void> {
  await enterKey(page, url, key);
  await page.getByRole('navigation').waitFor();
}

/** A signed-out page with its own storage. */
export async function newPage(browser: Browser, viewport: Viewport): Promise<Page> {
  return (await browser.newContext({ viewport })).newPage();
}

export const rowsOf = (page: Page, table: string): Locator =>
  page.getByRole('region', { name: table, exact: true }).locator('tbody tr');

/** Opens a screen of a signed-in tab by its URL. */
export const openScreen = async (page: Page, url: string, hash: string): Promise<void> => {
  await page.goto(`${url}/console/#${hash}`);
};

/** Fails with the text of any alert. */
export const assertNoAlert = async (page: Page): Promise<void> => {
  expect(await page.getByRole('alert').allInnerTexts()).to.deep.equal([]);
};
