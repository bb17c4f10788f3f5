// Where GNUstep says that an app's things belong, and whether it can put them there.
//
// Prints NAME=VALUE lines; a test compiles it into a bundle and compares them with the layout.
// The places are asked for as the documentation's example does.
#define main exampleMain
#import "../../docs/examples/AppPaths.m"
#undef main

static void print(const char *name, NSString *value) {
  printf("%s=%s\n", name, value ? [value UTF8String] : "(nil)");
}

static void printFlag(const char *name, BOOL value) {
  print(name, value ? @"yes" : @"no");
}

static void printPaths(void) {
  print("home", [AppPaths homePath]);
  print("applications", [AppPaths userDirectory:NSApplicationDirectory]);
  print("documents", [AppPaths docPath]);
  print("preferences", [AppPaths libPrefPath]);
  print("caches", [AppPaths libCachePath]);
  print("temporary", [AppPaths tmpPath]);
  print("support", [AppPaths userDirectory:NSApplicationSupportDirectory]);
}

static void printWrites(void) {
  NSString *notes = [[AppPaths docPath] stringByAppendingPathComponent:@"Notes/2024"];
  printFlag("ensured", [AppPaths hasLive:notes]);
  printFlag("ensured again", [AppPaths hasLive:notes]);
  printFlag("wrote document", [@"text" writeToFile:[notes stringByAppendingPathComponent:@"a.txt"]
                                        atomically:YES]);
  printFlag("wrote temporary",
            [@"text" writeToFile:[[AppPaths tmpPath] stringByAppendingPathComponent:@"a.txt"]
                      atomically:YES]);
  NSString *inBundle = [[[NSBundle mainBundle] bundlePath] stringByAppendingPathComponent:@"a.txt"];
  printFlag("wrote bundle", [@"text" writeToFile:inBundle atomically:YES]);
}

static void printDefaults(void) {
  NSUserDefaults *defaults = [NSUserDefaults standardUserDefaults];
  NSInteger launches = [defaults integerForKey:@"launches"] + 1;
  [defaults setInteger:launches forKey:@"launches"];
  printFlag("synchronized", [defaults synchronize]);
  print("launches", [NSString stringWithFormat:@"%d", (int)launches]);
}

static void printBundle(void) {
  NSBundle *bundle = [NSBundle mainBundle];
  print("bundle", [bundle bundlePath]);
  print("identifier", [bundle bundleIdentifier]);
  print("greeting", [bundle localizedStringForKey:@"greeting" value:@"(none)" table:nil]);
}

int main(void) {
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  printPaths();
  printWrites();
  printDefaults();
  printBundle();
  [pool release];
  return 0;
}
