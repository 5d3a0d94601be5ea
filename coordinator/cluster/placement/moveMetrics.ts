/** Metrics of moves and failovers: how many begin, how each ends, and how long it takes. */
import type { Metrics } from '../../../shared/metrics/metrics.js';

export type MoveKind = 'warm' | 'cold' | 'failover';

/** Counts a move that begins. The returned function counts how it ended. */
export function startMove(metrics: Metrics, kind: MoveKind): (stage: 'finished' | 'failed') => void {
  metrics.count('vouch_placement_moves_total', { kind, stage: 'started' });
  const finished = metrics.startTimer('vouch_placement_move_seconds');
  return (stage) => {
    metrics.count('vouch_placement_moves_total', { kind, stage });
    if (stage === 'finished') finished({ kind });
  };
}
