import { counted } from './values.js';

/** Says that requests wait for the rate limit, while any do. */
export const Waiting = ({ requests }: { readonly requests: number }) => (
  <p role="status" class={requests === 0 ? '' : 'waiting'}>
    {requests > 0 &&
      `The rate limit of the project is reached. ${counted(requests, 'request')} of this page will be sent as soon as the limit allows.`}
  </p>
);
