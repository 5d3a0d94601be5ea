/** The console in a page of a real browser, as a user finds it. */
import { expect } from 'chai';
import type { Browser, Locator, Page } from 'playwright-core';

/** A screen of a desk and one of a phone. */
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

/** A page with its own storage, which is not signed in. */
export async function newPage(browser: Browser, viewport: Viewport): Promise<Page> {
  return (await browser.newContext({ viewport })).newPage();
}

export const rowsOf = (page: Page, table: string): Locator =>
  page.getByRole('region', { name: table, exact: true }).locator('tbody tr');

/** Opens a screen of a signed-in tab by its address. */
export const openScreen = async (page: Page, url: string, hash: string): Promise<void> => {
  await page.goto(`${url}/console/#${hash}`);
};

/** Fails with the texts of the alerts, if there is one. */
export const assertNoAlert = async (page: Page): Promise<void> => {
  expect(await page.getByRole('alert').allInnerTexts()).to.deep.equal([]);
};
