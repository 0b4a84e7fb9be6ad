/**
 * When a generation of a session was replaced by the next.
 * @returns undefined: it was not (it counts, or was never issued); null: longer ago than is remembered
 */
export function replacedAt(
  generation: number,
  session: { generation: number; recentRotations: readonly Date[] },
): Date | null | undefined {
  if (generation >= session.generation) return undefined;
  return session.recentRotations.at(generation - session.generation) ?? null;
}
