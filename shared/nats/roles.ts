/** The roles of the processes that log in at NATS: `config/nats.roles.conf` says what each may do. */
import type { Msg } from 'nats';

export const NATS_ROLES = ['coordinator', 'shard', 'operator', 'admin'] as const;
export type NatsRole = (typeof NATS_ROLES)[number];

/** The inboxes of a role's processes, the only ones to which it may listen. */
export const inboxPrefixOf = (role: NatsRole): string => `_INBOX.${role}`;

/**
 * Whether the message may be answered. The asker chooses where the answer goes, and might choose a stream that only this
 * process may write.
 */
export const isAnswerable = ({ reply }: Msg): boolean => reply?.startsWith('_INBOX.') ?? false;
