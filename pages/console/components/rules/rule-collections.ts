import { useApi } from '../../api/use-api.js';

/** The collections that permissions can apply to, as the API names them. */
export function useRuleCollections(): readonly string[] {
  const { data } = useApi('/permissions/me');
  return Object.keys(data?.data ?? {});
}
