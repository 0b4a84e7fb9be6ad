import { setImmediate as breathe } from 'node:timers/promises';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import { createValidatorFactory } from './validation.js';

type Compile = (route: never) => Compiled;
type Factory = (...options: unknown[]) => Compile;
type Compiled = ((value: unknown) => unknown) & { errors?: unknown };

type Serializers = ReturnType<typeof SerializerSelector>;
type Answer = { schema: unknown; httpStatus?: string; method?: string };
type NamedSchemas = Readonly<Record<string, unknown>>;

/** Responses that need no compiled serializer: errors, and responses without a body. */
const isPlain = ({ httpStatus = '', method }: Answer) => /^([345]|204)/.test(httpStatus) || method === 'HEAD';

/** Those of the named schemas to which a schema refers, directly or through others. */
function referencedBy(schema: unknown, named: NamedSchemas, found: Record<string, unknown> = {}): NamedSchemas {
  for (const [, name = ''] of JSON.stringify(schema).matchAll(/"\$ref":"(\w+)#/g)) {
    if (name in found || !(name in named)) continue;
    found[name] = named[name];
    referencedBy(named[name], named, found);
  }
  return found;
}

/**
 * Compiles validators and serializers when they are first needed, so that startup does not wait for all of them. Error
 * responses get no compiled serializers: there would be several hundred, each taking a megabyte and some milliseconds. Their bodies
 * are small, and all come from one place (`plugins/http/errors.ts`).
 */
export function createLazyCompilers() {
  const waiting = new Set<() => void>();

  const lazily =
    (compile: Compile) =>
    (route: never): Compiled => {
      let compiled: Compiled | undefined;
      const compileNow = () => {
        waiting.delete(compileNow);
        compiled ??= compile(route);
        return compiled;
      };
      waiting.add(compileNow);
      const call: Compiled = (value) => {
        const run = compiled ?? compileNow();
        const result = run(value);
        // Fastify reads the validation errors from this property.
        call.errors = run.errors;
        return result;
      };
      return call;
    };

  /** Has the factory's type, because the functions that it creates are called in the same way, and are only compiled later. */
  const lazy = <T>(factory: T): T => ((...options: unknown[]) => lazily((factory as Factory)(...options))) as T;

  const select = SerializerSelector() as Factory;
  const buildSerializer: Factory = (named, options) => {
    // The library validates and copies all schemas that it gets, for each serializer.
    const compile = lazily((route: Answer) =>
      select(referencedBy(route.schema, named as NamedSchemas), options)(route as never),
    );
    return (route: Answer) => (isPlain(route) ? JSON.stringify : compile(route as never)) as Compiled;
  };

  return {
    /** For Fastify's `schemaController`. */
    factories: { buildValidator: lazy(createValidatorFactory()), buildSerializer: buildSerializer as Serializers },

    /** Compiles the rest, one at a time, so that requests do not have to wait for it. @throws if a schema is invalid */
    async compileAll(): Promise<void> {
      for (const settle of waiting) {
        settle();
        await breathe();
      }
    },
  };
}
