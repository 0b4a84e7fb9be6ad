import { setImmediate as breathe } from 'node:timers/promises';
import { AjvCompiler } from '@fastify/ajv-compiler';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';

type Compile = (route: never) => Compiled;
type Factory = (...options: unknown[]) => Compile;
type Compiled = ((value: unknown) => unknown) & { errors?: unknown };

type Serializers = ReturnType<typeof SerializerSelector>;
type Answer = { httpStatus?: string; method?: string };

/** Errors, what has no body, and what is sent without it. */
const isPlain = ({ httpStatus = '', method }: Answer) => /^([345]|204)/.test(httpStatus) || method === 'HEAD';

/**
 * Validators and serializers that are compiled when they are first needed, for a start must not wait for all of them. Errors
 * have none: there would be several hundred, a megabyte and some milliseconds each, for bodies that are small, and that one
 * place makes (`plugins/server/errors.ts`).
 */
export function createLazyCompilers() {
  const waiting = new Set<() => void>();

  const lazily =
    (compile: Compile) =>
    (route: never): Compiled => {
      let compiled: Compiled | undefined;
      const settle = () => {
        waiting.delete(settle);
        compiled ??= compile(route);
        return compiled;
      };
      waiting.add(settle);
      const call: Compiled = (value) => {
        const run = compiled ?? settle();
        const result = run(value);
        // Where Fastify looks for what a validator has to say.
        call.errors = run.errors;
        return result;
      };
      return call;
    };

  /** The factory's types are kept: what it makes is called in the same way, only later. */
  const lazy = <T>(factory: T): T => ((...options: unknown[]) => lazily((factory as Factory)(...options))) as T;

  const buildSerializer: Factory = (...options) => {
    const compile = lazy(SerializerSelector() as Factory)(...options);
    return (route: Answer) => (isPlain(route) ? JSON.stringify : compile(route as never)) as Compiled;
  };

  return {
    /** For Fastify's `schemaController`. */
    factories: { buildValidator: lazy(AjvCompiler()), buildSerializer: buildSerializer as Serializers },

    /** Compiles what is left, one after the other, so that requests need not wait for it. @throws what is wrong with a schema */
    async compileAll(): Promise<void> {
      for (const settle of waiting) {
        settle();
        await breathe();
      }
    },
  };
}
