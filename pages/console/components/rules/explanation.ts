import useSWR from 'swr';
import type { ApiFailure } from '../../../kit/api-failure.js';
import { post } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';

export type Question = Schemas['ExplainBody'];
export type Explanation = Schemas['Explanation'];
export type Changes = NonNullable<Question['changes']>;

/** Whose permissions are explained. */
export type Subject =
  | { kind: 'user'; id: string; name: string }
  | { kind: 'role'; id: string; name: string }
  | { kind: 'public' };

export const asQuestion = (subject: Subject): Pick<Question, 'user' | 'role' | 'public'> =>
  subject.kind === 'public' ? { public: true } : { [subject.kind]: subject.id };

interface Explained {
  explanation: Explanation | undefined;
  failure: ApiFailure | undefined;
  isLoading: boolean;
}

/** Asks the API to explain what someone can do. @param question undefined: nothing is asked */
export function useExplanation(question: Question | undefined): Explained {
  // The key begins as the paths of permissions do, so it is asked again after they have changed.
  const key = question && `/permissions/explain ${JSON.stringify(question)}`;
  const { data, error, isLoading } = useSWR<Schemas['ExplanationResponse'], ApiFailure>(
    key,
    () => post('/permissions/explain', question),
    { keepPreviousData: true, shouldRetryOnError: false },
  );
  return { explanation: data?.data, failure: error, isLoading };
}
