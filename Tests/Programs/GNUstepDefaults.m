// What an app's own NSUserDefaults has and sets, for a test to compare with `sandboxfs defaults`.
//
// Words: `get KEY` prints a value, `set KEY TEXT` sets one, `wait PATH` waits until PATH is gone,
// `sync` reads and writes the file.
#import <Foundation/Foundation.h>
#include <unistd.h>

int main(int argc, char **argv) {
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  NSUserDefaults *defaults = [NSUserDefaults standardUserDefaults];
  int index;
  for (index = 1; index < argc; index++) {
    NSString *word = [NSString stringWithUTF8String:argv[index]];
    if ([word isEqual:@"sync"]) {
      if (![defaults synchronize]) return 1;
      continue;
    }
    if (index + 1 >= argc) return 2;
    NSString *key = [NSString stringWithUTF8String:argv[++index]];
    if ([word isEqual:@"get"]) {
      printf("%s\n", [[[defaults objectForKey:key] description] UTF8String] ?: "(nil)");
    } else if ([word isEqual:@"wait"]) {
      printf("waiting\n");
      fflush(stdout);
      while (access([key fileSystemRepresentation], F_OK) == 0) usleep(10000);
    } else if (index + 1 < argc) {
      [defaults setObject:[NSString stringWithUTF8String:argv[++index]] forKey:key];
    }
  }
  [pool release];
  return 0;
}
