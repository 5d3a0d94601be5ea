// Covers: bench/stalls/table.ts
import { expect } from 'chai';
import { ENDPOINT_ROWS } from '../../../../bench/stalls/table.js';
import { API_ROUTES } from '../../../../coordinator/handlers/routes.js';
import { METRICS_ROUTE } from '../../../../coordinator/handlers/service.js';
import { SERVICE_LOG_ROUTES } from '../../../../coordinator/handlers/serviceLog.js';

describe('the table of worst inputs', () => {
  it('has a row for every endpoint', () => {
    const routes = [...API_ROUTES, METRICS_ROUTE, ...SERVICE_LOG_ROUTES];
    const endpoints = routes.map(({ method, path }) => `${method} ${path}`);
    expect(Object.keys(ENDPOINT_ROWS).sort()).to.deep.equal(endpoints.sort());
  });

  it('gives a reason for every row', () => {
    const rows = Object.entries(ENDPOINT_ROWS).flatMap(([endpoint, row]) =>
      ('small' in row ? [row.small] : row.map(({ because }) => because)).map((reason) => ({ endpoint, reason })),
    );
    expect(rows.filter(({ reason }) => reason === '')).to.deep.equal([]);
    const without = Object.entries(ENDPOINT_ROWS).filter(([, row]) => !('small' in row) && row.length === 0);
    expect(without).to.deep.equal([]);
  });
});
